"""What calls of Python do, by their dotted names, whatever they were imported as, or by the method alone."""

from typing import Final


def _by_name(reasons: dict[str, str]) -> dict[str, str]:
    return {name: reason for reason, names in reasons.items() for name in names.split()}


CALLS: Final = _by_name(
    {
        "deletes files": "os.remove os.unlink os.rmdir os.removedirs send2trash.send2trash",
        "deletes folders": "shutil.rmtree",
        "cuts files": "os.truncate os.ftruncate",
        "overwrites files": "os.replace",
        "gives files away": "os.chown",
        "kills processes": "os.kill os.killpg psutil.Process.kill",
        "starts processes without end": "os.fork",
        "stops the machine": "os.reboot",
        "becomes another user": "os.setuid",
        "deletes over HTTP": "requests.delete httpx.delete session.delete",
        "runs what a text holds": "pickle.loads marshal.loads",
        "sends mail": "smtplib.SMTP smtplib.SMTP_SSL yagmail.SMTP",
        "opens a shell": "pty.spawn",
        "changes the registry": "winreg.DeleteKey winreg.SetValueEx",
        "runs a program": "os.execv",
        "acts at the keyboard": "pyautogui.press pyautogui.hotkey pyautogui.click pyautogui.write pyautogui.typewrite keyboard.press keyboard.write",
    }
)
METHODS: Final = _by_name(
    {
        "deletes files": "unlink",
        "deletes folders": "rmtree rmdir removedirs",
        "deletes many": "delete_many delete_objects",
        "drops a database": "drop_database",
        "drops a collection": "drop_collection",
        "drops a table": "drop_table drop_all",
        "empties a database": "flushall flushdb",
        "deletes what a service keeps": "delete_bucket delete_object delete_table delete_stack delete_repo delete_index "
        "delete_db_instance delete_collection delete_user delete_function delete_cluster delete_namespaced_pod delete_namespace",
        "stops machines": "terminate_instances stop_instances",
        "kills processes": "killpg",
        "sends a message": "send_message",
        "sends mail": "sendmail send_email send_mail",
        "sends files away": "storbinary storlines",
        "speaks to others": "chat_postMessage update_status create_tweet send_raw_transaction send_transaction post_tweet",
        "stops something": "reboot_instances shutdown_server",
    }
)
SHELLS: Final = frozenset(
    "os.system os.popen subprocess.run subprocess.call subprocess.Popen subprocess.check_call subprocess.check_output "
    "subprocess.getoutput subprocess.getstatusoutput commands.getoutput asyncio.create_subprocess_shell "
    "asyncio.create_subprocess_exec os.execvp os.execv os.execl os.execlp os.spawnlp os.spawnvp pexpect.spawn pexpect.run "
    "sh.bash invoke.run plumbum.local get_ipython.system fabric.run".split()
)
"""They run a command line, or a list of arguments."""
TAKING_AWAY: Final = (
    "delete_",
    "terminate_",
    "destroy_",
    "purge_",
    "revoke_",
    "wipe_",
    "drop_db",
    "force_delete",
    "remove_user",
    "stop_db",
    "patch_namespaced",
    "replace_namespaced",
    "create_namespaced_",
    "patch_cluster",
)
"""How the methods of services begin that take something away."""
NOT_TAKING_AWAY: Final = (
    "delete_at",
    "delete_char",
    "delete_word",
    "delete_line",
    "delete_cookie",
    "delete_rows",
    "delete_cols",
)
SHELL_METHODS: Final = ("getoutput", "check_output")
HIDING: Final = ("exec", "eval", "compile", "__import__")
DECODERS: Final = ("base64.b64decode", "bytes.fromhex", "codecs.decode")
MOVERS: Final = ("os.rename", "os.replace", "shutil.move", "os.chmod", "shutil.copy", "shutil.copyfile")
SQL_METHODS: Final = ("execute", "executescript", "executemany", "raw", "text", "query", "read_sql", "run")
CLIENTS: Final = ("requests", "httpx", "session", "client", "s3", "bucket", "repo", "queryset", "ec2")
"""Names of what a `delete()` without more takes something away from."""
HTTP_METHODS: Final = ("post", "put", "patch", "delete", "get", "request")
HTTP_LIBRARIES: Final = ("requests", "httpx", "session", "client", "http")
PAYING: Final = ("stripe.", "paypal", "braintree", "square.")
FORCING: Final = frozenset(("--force", "-f", "--mirror", "--delete"))

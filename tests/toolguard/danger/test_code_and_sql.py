"""SQL by its verbs, Python by its syntax tree, other languages by their calls."""

import subprocess
import sys

import pytest

from server.toolguard.danger.code_and_sql import judge_sql, looks_like_sql
from server.toolguard.danger.command_lines import CommandJudge
from server.toolguard.danger.danger_table import load_table

TABLE = load_table()
JUDGE = CommandJudge(TABLE)


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE users",
        "drop/**/table users",
        "SELECT 1; DROP VIEW a",
        "TRUNCATE a",
        "DELETE FROM a",
        "DELETE FROM a WHERE id = 1",
        "UPDATE a SET b = 1",
        "UPDATE a SET b = 1 WHERE 1=1",
        "UPDATE a SET b = 1 -- WHERE id = 7",
        "WITH x AS (DELETE FROM a RETURNING *) SELECT * FROM x",
        "GRANT ALL ON a TO b",
        "REVOKE ALL ON a FROM b",
        "ALTER TABLE a DROP COLUMN b",
        "CREATE USER a",
        "COPY a TO PROGRAM 'x'",
        "SELECT * INTO OUTFILE 'a' FROM b",
        "EXEC xp_cmdshell 'dir'",
        "REPLACE INTO a SELECT * FROM b",
        "SHUTDOWN",
        "SELECT pg_terminate_backend(1)",
        "PRAGMA writable_schema=1",
        "MATCH (n) DETACH DELETE n",
    ],
)
def test_sql_that_changes_for_good_is_dangerous(statement: str) -> None:
    assert judge_sql(statement, TABLE).level == "dangerous"


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM deleted_items",
        "select 'DROP TABLE users'",
        "-- DELETE FROM users\nSELECT 1",
        'SELECT "update", "set" FROM "table"',
        "SELECT truncate(price, 2), drop_off FROM rides",
        "UPDATE a SET b = 1 WHERE id = 17",
        "INSERT INTO a VALUES ('drop table b')",
        "CREATE TABLE a (is_deleted boolean)",
        "SHOW GRANTS FOR a",
        "EXPLAIN DELETE FROM a",
        "BEGIN; SELECT 1; ROLLBACK",
        "",
        ";",
    ],
)
def test_sql_that_looks_or_adds_is_safe(statement: str) -> None:
    assert judge_sql(statement, TABLE).level == "safe"


def test_a_statement_that_no_rule_knows_is_unknown() -> None:
    assert judge_sql("FROBNICATE a", TABLE).level == "unknown"


@pytest.mark.parametrize(
    ("text", "expected"), [(" ( select 1)", True), ("-- a\ndrop x", True), ("hello", False), ("", False)]
)
def test_a_statement_is_told_from_other_texts(text: str, expected: bool) -> None:
    assert looks_like_sql(text, TABLE) is expected


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.remove('a')",
        "from shutil import rmtree as r\nr('a')",
        "import os as x\nx.unlink('a')",
        "from pathlib import Path\nPath('a').unlink()",
        "__import__('os').remove('a')",
        "import os\nos.system('rm -r a')",
        "import subprocess\nsubprocess.run(['rm', '-r', 'a'])",
        "import subprocess\nsubprocess.run('rm -r a'.split())",
        "import subprocess\nsubprocess.run(f'rm -r {a}', shell=True)",
        "import subprocess\nsubprocess.run(decode(a))",
        "exec(fetch(a))",
        'eval(\'__import__("os").remove("a")\')',
        "open('/etc/passwd', 'a').write('x')",
        "cursor.execute('DROP TABLE a')",
        "requests.delete('https://a.example')",
        "client.delete_bucket('a')",
        "!rm -r a",
        "%%bash\nrm -r a",
    ],
)
def test_python_that_changes_for_good_is_dangerous(code: str) -> None:
    assert JUDGE.code(code, "python").level == "dangerous"


@pytest.mark.parametrize(
    "code",
    [
        "print('shutil.rmtree(a)')",
        '"""os.remove(a)"""',
        "# os.remove('a')",
        "x = [1]\nx.remove(1)\ndel x",
        "import os\nprint(os.listdir('/etc'))",
        "import subprocess\nsubprocess.run(['git', 'status'])",
        "cursor.execute('SELECT 1')",
        "open('/etc/passwd').read()",
        "open('a.txt', 'w').write('x')",
        "df.drop(columns=['x']).head()",
        "!ls",
        "",
    ],
)
def test_python_that_looks_or_computes_is_safe(code: str) -> None:
    assert JUDGE.code(code, "python").level == "safe"


@pytest.mark.parametrize(
    ("language", "code", "expected"),
    [
        ("node", "fs.rmSync('a')", "dangerous"),
        ("ruby", "puts 1", "unknown"),
        ("python", "print 'of version 2'", "unknown"),
        ("bash", "rm -r a", "dangerous"),
    ],
)
def test_code_of_a_shell_is_a_command_line_and_other_code_is_unknown(language: str, code: str, expected: str) -> None:
    assert JUDGE.code(code, language).level == expected


@pytest.mark.parametrize(
    "line",
    [
        'node -e \'require("fs").rmSync("/srv", {recursive: true})\'',
        'node -pe \'const {unlinkSync} = require("fs"); unlinkSync("a")\'',
        'node --eval \'require("child_process").execSync("rm -rf /srv")\'',
        'node -e \'require("child_process").spawn("rm", ["-rf", dir])\'',
        "deno eval 'Deno.removeSync(\"a\")'",
        "perl -e 'unlink \"a\"'",
        "perl -wne 'unlink glob(\"/srv/*\")'",
        "perl -MFile::Path -e 'remove_tree(\"/srv\")'",
        'perl -e \'system("rm", "-rf", $dir)\'',
        "perl -e '`rm -rf /srv`'",
        "ruby -e 'FileUtils.rm_rf(\"/srv\")'",
        "ruby -e 'Dir.glob(\"/srv/*\").each { |f| File.delete(f) }'",
        "php -r 'unlink(\"a\");'",
        'php -r \'array_map("unlink", glob("/srv/*"));\'',
        "lua -e 'os.execute(\"rm -rf /srv\")'",
        "Rscript -e 'unlink(\"/srv\", recursive=TRUE)'",
        "python2 -c 'import os; os.remove(\"a\"); print 1'",
    ],
)
def test_calls_that_delete_are_found_in_any_language(line: str) -> None:
    assert JUDGE.line(line).level == "dangerous"


@pytest.mark.parametrize(
    "line",
    [
        "node -e 'cache.delete(key); list.remove(1)'",
        "node -e 'console.log(\"fs.rmSync(a)\") // fs.rmSync(a)'",
        "node -e 'console.log(`rm -rf ${dir}`)'",
        "perl -pe 's/a/b/' a",
        "ruby -e 'puts [1].delete(1)'",
        "Rscript -e 'x <- 1; rm(x)'",
    ],
)
def test_code_that_only_computes_asks_nothing_in_any_language(line: str) -> None:
    assert JUDGE.line(line).level == "unknown"


def test_warnings_about_a_models_code_are_not_printed() -> None:
    program = (
        "from server.toolguard.danger.judge import judge_call\n"
        "print(judge_call('python', 'WRITE', {'code': 'x = \"\\\\d\" + 5'}).level)"
    )

    shown = [sys.executable, "-W", "always::DeprecationWarning", "-W", "always::SyntaxWarning", "-c", program]
    done = subprocess.run(shown, capture_output=True, text=True, check=True)

    assert (done.stdout, "invalid escape" in done.stderr) == ("safe\n", False)

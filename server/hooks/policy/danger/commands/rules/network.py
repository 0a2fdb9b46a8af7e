"""Programs that handle keys, open the machine to others, or send things away."""

from typing import Final

RULES: Final = """
removes or replaces keys:
    ssh-keygen -R|-f|-y !-l|-F|-B|--help|-t
removes keys:
    ssh-add -D|-d
lets somebody in:
    ssh-copy-id
opens a tunnel:
    ssh -R|-L|-D|-w|-fN|-fNR|-NR|-fNL
deletes or leaks keys:
    gpg|gpg2 --delete-key|--delete-keys|--delete-secret-keys|--delete-secret-key|--delete-secret-and-public-key|
        --export-secret-keys|--export-secret-subkeys|--gen-revoke|--quick-revoke-uid
    security delete-keychain|delete-generic-password|delete-internet-password|dump-keychain|find-generic-password|
        find-internet-password|export|delete-certificate|add-trusted-cert|authorizationdb|lock-keychain|
        set-keychain-password|delete-identity
changes or shows passwords:
    pass rm|generate|mv|init|edit|show|remove|delete
destroys secrets:
    vault delete|destroy|token|lease|operator|secrets|auth|policy|kv|write revoke|seal|rekey|disable|delete|destroy|
        metadata|rotate|raft|step-down|put|undelete
    vault delete|destroy|revoke|seal
changes passwords:
    op|bw|lpass item|document|vault|delete|rm|user|group delete|remove|suspend|item|edit
revokes certificates:
    kdestroy|certbot|openssl-revoke|acme.sh|step delete|revoke|--revoke|--remove|unregister
changes or shows passwords:
    secret-tool clear|lookup|store
opens the machine to others:
    nc|ncat|netcat|socat|telnet|nc.traditional -e|-c|--exec|--sh-exec|-l|--listen|-L|-lvp|-lvnp|-nlvp|-lp|-lk
    socat ~*exec:*|*EXEC:*|*system:*|*SYSTEM:*|*LISTEN*
    ngrok|cloudflared|localtunnel|lt|bore|frpc|pagekite|serveo|localhost.run|tailscale http|tcp|tls|start|tunnel|
        funnel|serve|local|--port|client|down|logout|--url|-c
    lt -p|--port
    tmate|teleconsole|gotty|ttyd|shellinabox|sshx|upterm
    x11vnc|vncserver|xhost|x0vncserver +|-display|-nopw|-forever|:*
attacks or burdens others:
    nmap|masscan|hydra|medusa|hping3|sqlmap|aircrack-ng|john|hashcat|nikto|msfconsole|msfvenom|ettercap|bettercap|
        arpspoof|slowloris|ab|siege|wrk|vegeta|hey|aireplay-ng|responder|mimikatz|patator|ncrack|dirb|gobuster|ffuf|
        wpscan|crackmapexec|dnsspoof|mdk4|reaver|metasploit !-v|-V
sends mail:
    mail|mailx|sendmail|mutt|msmtp|swaks|ssmtp|sendemail|s-nail|neomutt|himalaya
sends files away:
    ftp|lftp|sftp|ncftpput|tftp ~*put*|*mirror*-R*|*mput*|*rm*|*-b*
speaks to others:
    telegram-send|slackcat|twurl|toot|rainbowstream
    signal-cli send
"""

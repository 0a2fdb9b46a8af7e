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
    signal-cli send|sendReaction|remoteDelete|quitGroup|updateGroup|block|removeContact|deleteLocalAccountData|unregister|
        updateProfile|updateAccount|sendPaymentNotification|setPin|removePin|joinGroup|finishChangeNumber
changes the network:
    ip l|a|r|ru|n|netns|tunnel|tuntap|vrf|xfrm set|del|delete|flush|change|replace|add|down
    iw|iwctl|wpa_cli|bridge|brctl|ovs-vsctl del|delbr|delif|disconnect|del-br|del-port|terminate|emer-reset|forget
    ethtool -s|-K|-A|-r|-E
    macchanger|dhcpcd|dhclient -r|-k|-a|-m|--release
    netplan|nmstatectl apply|set
    tailscale|zerotier-cli|netbird|nordvpn|mullvad|protonvpn|warp-cli|wg-quick down|logout|leave|disconnect|set|switch
    rndc|unbound-control|knotc|pdnsutil stop|halt|delete|delzone|delete-zone|delete-rrset|zone-purge|flush_zone|freeze
    nsupdate|dnscontrol|octodns-sync push|--doit|-k|-y|-l
    csf|shorewall|apf -x|-f|stop|clear|disable
opens the machine to others:
    chisel|gost|rathole|frps|zrok|inlets|bore|playit|pinggy|jprq|expose|localhostrun server|client|share|http|tcp|local|-L|-c|start
    code|code-server|jupyter|jupyter-lab|jupyter-notebook tunnel|--auth=none|--auth|--bind-addr=0.0.0.0:*|--ip=0.0.0.0|--allow-root|
        --ServerApp.token=|--NotebookApp.token=|--without-connection-token
    php -S ~0.0.0.0*
    rustdesk|anydesk|teamviewer --password|--set-password|passwd|--install
    telnetd|rshd|in.telnetd|vsftpd|tftpd
shows or gives away credentials:
    bw|rbw|lpass|gopass|passage|keepassxc-cli|kpcli|dcli|protonpass export|show|get|read|clip|rm|remove|edit|delete|purge|send|rmdir
    op read|export|inject|item|document
    vault|bao kv|read|print|token|operator|write|secrets|auth|policy|audit get|read|token|create|generate-root|init|enable|disable|put|patch
    vault|bao read|print|write
    security unlock-keychain|set-key-partition-list|import|add-generic-password|add-internet-password
    secretsdump.py|impacket-secretsdump|lazagne|mimipenguin|pypykatz|rubeus|chntpw|bloodhound|bloodhound-python|sharphound|
        kerbrute|netexec|nxc|evil-winrm|psexec.py|wmiexec.py|ntlmrelayx.py
    gcore|reptyr
    tcpdump|tshark|dumpcap|ngrep -w|-A|-X
attacks or burdens others:
    locust|k6|artillery|bombardier|oha|autocannon|drill|slowhttptest|goldeneye|hulk|t50|loic|hoic|torshammer|nping
        !--version|--help|-v
    ping|ping6|fping -f|--flood
    nuclei|amass|feroxbuster|dirsearch|wfuzz|commix|xsser|setoolkit|gophish|wifite|kismet|bully|mdk3|fluxion|evilginx|evilginx2|
        wifiphisher|sliver|arp-spoof|yersinia|macof|zap-cli|openvas|enum4linux|beef-xss !--version|--help|-v
shows to others:
    gh gist create
    glab snippet create
    pastebinit|gist|wgetpaste|fpaste|hastebin|haste|ffsend|transfer|transfersh|wormhole|croc|onionshare|onionshare-cli
        !-h|--version|receive|list|get|-l
speaks in the user's name:
    telegram-cli|matrix-commander|sendxmpp|discord.sh|slack|imsg|gammu|mudslide|wacli|toot|tut|bsky|twitter|ntfy
        send|sendsms|post|dm|-b|-m|msg|message|publish|chat|tweet|reply|broadcast
"""

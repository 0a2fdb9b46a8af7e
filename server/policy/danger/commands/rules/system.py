"""Programs that stop processes and machines, or change how the system works and who may use it."""

from typing import Final

RULES: Final = """
kills processes:
    kill|skill ~*$(*|`*
    kill|skill ~-1|-9|-KILL|-SIGKILL|-s|-STOP|1|0|-15|-TERM|-HUP|-kill
    killall|pkill|xkill|killall5|snice|slay
    fuser -k|--kill|-K
stops the machine:
    shutdown|reboot|halt|poweroff|init|telinit|pm-hibernate|pm-suspend|systemctl-reboot|rtcwake !-c|-k|--help|--show
stops services:
    systemctl|rc-service|service|sv|launchctl|initctl|supervisorctl|pm2|monit|s6-svc|rc-update|update-rc.d|
        chkconfig|brew-services|circusctl stop|restart|disable|mask|poweroff|reboot|halt|kill|isolate|emergency|rescue|
        suspend|hibernate|kexec|exit|unload|bootout|remove|delete|down|default|set-default|force-stop|unmonitor|
        shutdown|edit|revert|try-restart|force-reload|off|unlink|kickstart|set-property|hybrid-sleep|soft-reboot|
        switch-root|disable-now|reset-failed
    service|rc-service|sv|invoke-rc.d * stop|restart|force-stop|reload|zap|down|kill
ends sessions:
    loginctl terminate-user|terminate-session|kill-user|kill-session|terminate-seat|lock-sessions|poweroff|reboot
changes the firewall:
    iptables|ip6tables|nft|ebtables|arptables|ufw|firewall-cmd|pfctl|ipfw|ipset !-L|-S|-n|--list|list|status|
        --list-all|--state|-nL|-vL|-nvL|--get-zones|-s|--check|-C|show
    iptables-restore|ip6tables-restore|nft-restore
changes the network:
    ip link|addr|address|route|rule|netns|neigh|neighbor|tunnel set|del|delete|flush|change|replace|down
    ifconfig * down|up|delete|-alias|promisc|mtu
cuts the network:
    ifdown|nmcli-down|dhclient-r|rfkill|ifdown2
changes the network:
    route del|delete|flush|add|change
    nmcli connection|con|c|device|dev|d|radio|networking|n|r|general delete|down|disconnect|off|modify|mod|edit
    networksetup|scutil|systemsetup -setairportpower|-setnetworkserviceenabled|-setdnsservers|-setwebproxy|
        -removenetworkservice|--set|-setremotelogin|-setusingnetworktime|-setautoproxyurl|-setsecurewebproxy
cuts the network:
    rfkill block
changes the network:
    wg-quick|wg down|set
    tc qdisc
changes the system:
    hostnamectl|hostname|timedatectl|localectl set-hostname|set-time|set-ntp|set-timezone
    resolvectl dns|domain|revert|default-route
    date -s|--set
    hwclock --set|--systohc|-w
    snmpset
    dconf|gsettings reset|reset-recursively|write|load
changes accounts:
    passwd -l|-u|-d|-e|--lock|--delete|--expire
changes which programs run:
    export|declare|set|setenv ~PATH=/tmp*|PATH=.:*|PATH=/dev/shm*|LD_PRELOAD=*|LD_AUDIT=*|LD_LIBRARY_PATH=/tmp*|DYLD_INSERT_LIBRARIES=*|PROMPT_COMMAND=*|BASH_ENV=*
erases traces:
    unset ~HISTFILE|HISTSIZE|HISTFILESIZE
    export|declare|set ~HISTSIZE=0|HISTFILESIZE=0|HISTFILE=*
    keyctl purge|clear|revoke|unlink
cuts the network:
    networkctl down|delete|reconfigure
    sshuttle -r|--remote
drops mail:
    postsuper -d|-h|-r
    exim|exim4 -Mrm|-Mf|-Mg|-Mt
    postfix|varnishadm|squid flush|stop|abort|ban|ban.url|-k
changes a site:
    a2dissite|a2ensite|a2dismod|a2enmod|a2disconf
    haproxy -sf|-st
shows or gives away credentials:
    sops -d|--decrypt|decrypt|exec-env
    ansible-vault decrypt|view|rekey
changes volumes:
    lvcreate|pvmove|pvresize
    zfs|btrfs|zpool set|balance|device|replace|recv|receive|inherit|upgrade
    qemu-nbd -d|--disconnect
    swapoff|umount -a|-l|-f
    swapoff ~/dev/*
changes a machine:
    vboxmanage|VBoxManage snapshot restore|delete
changes the kernel:
    sysctl -w|--write|-p|--load
    sysctl ~*.*=*
removes drivers:
    modprobe -r|--remove
changes the kernel:
    rmmod|insmod|depmod|kextunload|kextload|kexec|kmutil
weakens protection:
    setenforce|aa-disable|aa-teardown|aa-complain|apparmor_parser|spctl|csrutil|setsebool|auditctl|semanage
        !--status|status|-l|-s|--assess|list
changes how the machine starts:
    grub-install|update-grub|grub-mkconfig|grub2-install|efibootmgr|bootctl|bless|nvram|dracut|mkinitcpio|
        update-initramfs|bcdedit|flashrom|fwupdmgr|fw_setenv|ipmitool !-p|-v|--verbose|status|list|get-updates|
        get-devices|sensor|sdr|/enum|get-history|info
removes scheduled jobs:
    crontab -r|-d|-u
replaces scheduled jobs:
    crontab -
    crontab * !-l|-e|--help
schedules commands:
    at|atrm|batch|anacron !-l|-V
changes accounts:
    useradd|adduser|userdel|deluser|usermod|groupdel|delgroup|groupmod|addgroup|groupadd|vipw|vigr|visudo|chsh|chfn|
        pwconv|newusers|gpasswd|chage|chpasswd|faillock|dscl|sysadminctl|pwpolicy|dseditgroup|smbpasswd|pdbedit|
        samba-tool|kadmin|ipa|pam-auth-update|authselect|authconfig|passwd|grpck|lchage|luserdel|lusermod|net-user !-S|
        --status|-l|--list|list|-read|-list|--help|show|--show|-L
becomes another user:
    su|login|newgrp|runas
erases traces:
    history -c|-d|-w
deletes logs:
    journalctl --vacuum-time|--vacuum-size|--vacuum-files|--rotate
    logrotate -f|--force
    dmesg -c|-C|--clear|--read-clear
    wevtutil cl|clear-log|sl
stops the audit:
    auditctl -D|-e
changes commands:
    alias|unalias -a
breaks the shell:
    unset ~PATH|HOME|LD_LIBRARY_PATH
changes the root:
    chroot|pivot_root|switch_root
installs what runs on its own:
    systemctl enable|reenable|link|preset|preset-all|set-environment
    rc-update|update-rc.d|chkconfig|svcadm|sv|dinitctl add|enable|defaults|on
    launchctl load|bootstrap|submit|enable|setenv|start
    loginctl enable-linger
    nssm|winsw install|remove|stop|set|edit
    at -f
changes which programs run:
    update-alternatives|alternatives --remove|--remove-all|--set|--install|--all|--config
    dpkg-divert|dpkg-statoverride --add|--remove|--rename|--update
    ldconfig -C|-f
weakens protection:
    chcon|semodule|restorecon -R|-r|-i|-B|-D|-d|-t
    pam_tally2 --reset|-r
    systemd-tmpfiles --remove|--clean|--purge
    fail2ban-client|cscli unban|stop|delete|set|disable
    journalctl --flush|--relinquish-var
changes devices:
    nvidia-smi -pl|-r|--gpu-reset|-pm|-lgc
    cpupower frequency-set|set|idle-set
    wrmsr|setpci|i2cset|flashprog|ryzenadj|undervolt
ends sessions:
    gnome-session-quit|xfce4-session-logout|logout|killall5
burdens the machine:
    stress|stress-ng
changes accounts:
    usermod -L|-U|-G|-aG|-g|-s|-u|-l|-p|-e|-d
"""

"""Processes, services, accounts and settings of the system. Lines to ask about, and lines that must bother nobody."""

from server.policy.danger.commands.line import judge_shell

ASKED = r"""
killall -9 node
kill -9 1
shutdown -h now
init 0
telinit 6
systemctl restart postgresql
systemctl mask ssh
ufw disable
nft flush ruleset
iptables -F
ip link set eth0 down
nmcli con down home
sysctl -w kernel.panic=1
modprobe -r e1000
passwd root
userdel -r anna
useradd -o -u 0 x
visudo
deluser anna sudo
crontab jobs.txt
unset PATH
grub-install /dev/sda
update-grub
history -c
journalctl --vacuum-time=1s
hostnamectl set-hostname x
timedatectl set-time 2000-01-01
launchctl bootout system/x
systemctl stop firewalld
crontab -r
chsh -s /bin/false root
poweroff
halt
ip route del default
ip addr flush dev eth0
tc qdisc add dev eth0 root netem loss 100%
route del default
pm2 delete all
supervisorctl stop all
loginctl terminate-user anna
skill -KILL -u anna
xkill
csrutil disable
spctl --master-disable
nvram -c
usermod -aG sudo guest
useradd -m -s /bin/bash -G sudo backdoor
passwd anna
ufw allow 22
ufw delete allow 22
iptables -A INPUT -j DROP
firewall-cmd --add-service=http --permanent
sysctl -w net.ipv4.ip_forward=1
setenforce 0
kill -STOP 1234
pkill -9 -u anna
systemctl stop docker
systemctl disable NetworkManager
service ssh restart
launchctl unload /Library/LaunchDaemons/x.plist
nvram boot-args=""
ipmitool chassis power cycle
flashrom -w bios.bin
route add default gw 1.2.3.4
nmcli networking off
systemctl stop NetworkManager
ufw default allow incoming
kill -TERM -1
killall -u anna
systemctl kill nginx
usermod -L anna
gpasswd -a guest docker
chpasswd < x
groupdel staff
userdel anna
journalctl --rotate --vacuum-time=1s
launchctl disable system/x
killall Finder
"""
QUIET = r"""
systemctl status nginx
systemctl list-units --state=failed
journalctl -u nginx -n 100
crontab -l
kill -0 123
kill -l
ip a
ip route show
iptables -L -n
ufw status
nmcli dev wifi list
hostname
timedatectl
hostnamectl
localectl status
loginctl list-sessions
launchctl list
systemctl status x
systemctl --user list-units
journalctl -f
ip link show
nmcli device status
unset A
"""


def test_what_cannot_be_taken_back_is_asked_about() -> None:
    assert [line for line in ASKED.strip().splitlines() if judge_shell(line) is None] == []


def test_what_is_done_every_day_asks_nothing() -> None:
    assert [line for line in QUIET.strip().splitlines() if judge_shell(line) is not None] == []

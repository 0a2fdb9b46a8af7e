"""Files that are deleted, overwritten or opened up. Lines to ask about, and lines that must bother nobody."""

from server.policy.danger.commands.line import judge_shell

ASKED = r"""
rm -r -f x
sleep 1 & rm x
/bin/rm -rf x
( rm x )
find /var -type f -delete
cat /dev/null > /var/log/auth.log
> important.db
echo x > /etc/passwd
cp /dev/null data.db
truncate -s 0 data.db
unzip -o a.zip -d /srv
mkfs.ext4 /dev/sdb1
shred -u x
chmod -R 777 /
chmod 777 /etc/passwd
chown -R nobody /
chattr +i /etc/passwd
setfacl -R -b /srv
cat /dev/urandom > /dev/sda
dd if=/dev/random of=disk.img
ln -sf /dev/null ~/.bash_history
echo 'alias sudo=x' >> ~/.bashrc
echo x >> /etc/crontab
sed -i d /etc/passwd
mv /etc /etc2
mv /bin/ls /tmp
gpg --delete-secret-keys anna
osascript -e 'tell app "Finder" to empty trash'
tar xf x.tar -C /
tee /etc/hosts < x
rm -- -rf
echo o > /proc/sysrq-trigger
echo 0 > /sys/class/x
rm -- ~/Documents/*
find ~ -empty -delete
cp /dev/zero /dev/sda
cat /dev/zero > ~/big
head -c 100G /dev/zero > ~/fill
fallocate -l 500G ~/x
dd if=/dev/zero of=~/fill bs=1M
echo > ~/.bash_history
truncate --size=0 app.log
tar -xzf x.tgz -C / --overwrite
chmod -R 000 /srv
chmod 666 /etc/passwd
chown root:root ~/.ssh -R
echo "guest ALL=(ALL) NOPASSWD:ALL" >> /etc/sudoers
cp evil.desktop ~/.config/autostart/
ln -s /tmp/x.service /etc/systemd/system/x.service
cat ~/.ssh/id_rsa
cat ~/.aws/credentials
osascript -e 'tell application "Finder" to delete every item of desktop'
osascript -e 'tell application "Messages" to send "hi" to buddy "x"'
gpg --delete-secret-keys x
make deploy
just publish
sed -i d novel.md
/???/r? -rf x
tar cf x.tar y --checkpoint=1 --checkpoint-action=exec='sh evil.sh'
xattr -dr com.apple.quarantine x.app
rm -rfv ./*
rm -r -- -weird
find . -type f -not -name '*.md' -delete
tee ~/thesis.tex < /dev/null
printf '' > notes.txt
echo -n > config.yml
cp -f old.db prod.db
install -m 644 /dev/null /etc/motd
busybox dd if=/dev/zero of=/dev/mmcblk0
echo 'ssh-rsa AAAA x' >> ~/.ssh/authorized_keys
echo '@reboot root /tmp/x' > /etc/cron.d/x
printf '[Service]\nExecStart=/tmp/x\n' > ~/.config/systemd/user/x.service
echo nameserver 1.2.3.4 > /etc/resolv.conf
echo b > /proc/sysrq-trigger
rm -f /var/log/auth.log
gpg --batch --yes --delete-key x
openssl enc -aes256 -in x.pdf -out x.enc
osascript -e 'tell application "System Events" to restart'
osascript -e 'tell application "Terminal" to do script "rm -rf ~"'
"""
QUIET = r"""
ls -la
cat file.txt
mkdir -p build/rm
touch new.txt
cp a b
mv a.txt b.txt
echo hi > notes.txt
echo hi >> notes.txt
make clean
make test
ps aux
top -bn1
df -h
du -sh *
free -m
find . -name '*.tmp'
find . -type f -newer x
grep -r delete src
rg 'rm -rf'
sed -n 1,10p x
sed -i 's/a/b/' README.md
tar xzf a.tgz
tar -cf /tmp/a.tar .
unzip a.zip -d /tmp/a
unzip -l a.zip
pytest -k delete
ruff check .
black --check .
prettier --check .
chmod +x run.sh
chmod 644 a.txt
chmod 600 ~/.ssh/id_rsa
pgrep -f python
whoami
id
groups
date
cal
uname -a
export PATH=$PATH:~/bin
. ./env.sh
printenv PATH
man dd
type rm
tldr rm
apt-cache show rm
openssl rand -hex 16
openssl x509 -in a.pem -noout -text
gpg --list-keys
gpg --verify a.sig
sha256sum a
base64 a
jq 'del(.a)' a.json
jq 'map(select(.delete))' a
tr -d '\r' < a
cut -f1 a
diff a b
patch -p1 --dry-run < a.diff
ffmpeg -i a.mp4 b.mp3
convert a.png b.jpg
pandoc a.md -o b.pdf
yt-dlp --list-formats x
lsblk
lsof -i :80
ss -tlnp
netstat -an
dig example.com
whois example.com
nslookup example.com
traceroute x
systemd-analyze blame
lspci
lsusb
sensors
ansible-inventory --list
rm -rf /tmp/build
rm -rf ./node_modules
make
make install
cmake --build build
tar xf a.tar
zip -r a.zip x
unzip a.zip
7z x a.7z
chmod +x a.sh
chmod 600 key
chmod 755 x
ln -s a b
touch a
cp -r a b
mv a b
sed -i 's/a/b/' x.py
tee out.txt
echo x > out.txt
cat a b > c
sort -o x x
pgrep node
top
lsof -i
lsblk -f
dig +short x
openssl s_client -connect x:443
openssl x509 -in c.pem -text
gpg -d x.gpg
say hi
pbpaste
osascript -e 'set volume 3'
osascript -e 'tell application "Spotify" to pause'
sw_vers
ffmpeg -i a b
jq . x
find . -name x -print
fd -e py
rg x
export A=b
read -p x
wait
printf '%s\n' x
firefox https://x
man kill
bazel build //...
tsc
eslint . --fix
black .
ruff check --fix
isort .
mypy .
pre-commit run -a
pg_dump shop > shop.sql
mysqldump shop > shop.sql
tar czf backup.tgz ~/Documents
cp -a ~ /mnt/backup
"""


def test_what_cannot_be_taken_back_is_asked_about() -> None:
    assert [line for line in ASKED.strip().splitlines() if judge_shell(line) is None] == []


def test_what_is_done_every_day_asks_nothing() -> None:
    assert [line for line in QUIET.strip().splitlines() if judge_shell(line) is not None] == []

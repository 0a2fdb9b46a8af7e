"""Which programs, with which words and flags, are asked about. Data; each line says why.

A line is `program words flags : reason`. `a|b` is either; words stand in this
order among the first that are no flags; `-f|--force` is one of these flags
(`-f` also inside `-xfd`); `!-n` must not be there; `~glob` fits any word.
Manuals of the programs are the source.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

_TABLE: Final = """
# files
rm|unlink|shred|srm|wipe|scrub|rimraf|trash-empty|rmdir|gshred|grm|sfill : deletes files
trash|trash-put|rip|trash-rm : deletes files
gio trash : deletes files
mv -f|--force : overwrites without asking
mv ~/dev/null : moves into nothing
cp -f|--force|--remove-destination : overwrites without asking
cp ~/dev/null : empties a file
ln -f|--force|-sf|-sfn : replaces what is there
truncate -s|--size|-r|--reference : cuts a file
rsync --delete|--delete-after|--delete-before|--delete-during|--delete-delay|--delete-excluded|--remove-source-files|--del|--force : deletes what the source has not
rclone sync|delete|purge|deletefile|cleanup|move|rmdirs|dedupe : deletes remote files
tar --overwrite|--remove-files|--unlink-first|--recursive-unlink|--delete : overwrites or deletes files
tar -x|--extract ~/|/etc*|/usr* : unpacks over the system
unzip -o : overwrites without asking
7z|7za|7zr -aoa|-sdel : overwrites without asking
7z|7za|7zr d : deletes from an archive
zip -m|-d|--move|--delete : deletes files
unrar -o+|-y : overwrites without asking
cpio -u|--unconditional : overwrites newer files
dd ~of=* !of=/dev/null : writes to a device or over a file
tee ~/dev/*|/etc/*|/boot/*|/proc/*|/sys/*|/usr/*|*/.ssh/*|*/.bashrc|*/.profile|*/.zshrc !/dev/null|/dev/stderr|/dev/stdout|/dev/tty : writes to the system
sponge|ed|ex ~/etc/* : changes the system's files
sed|perl|ruby|gsed -i|--in-place ~/etc/*|/usr/*|/boot/*|*/.ssh/*|/var/* : changes the system's files
find -delete : deletes what it finds
fallocate -p|--punch-hole|-c|--collapse-range|-z : punches holes into a file
split|csplit ~/dev/sd* : writes to a device
chmod -R|--recursive : changes rights of a whole tree
chmod ~000|0000|777|0777|a+w|o+w|a+rwx|ugo+rwx|666|0666|+s|u+s|g+s|4???|2???|6???|o+rwx|a=|a-rwx|u-r*|-r : rights for nobody or for all
chmod ~/|/etc*|/usr*|/bin*|/boot*|/var* : changes the system's rights
chown|chgrp : gives files away
chattr|setfacl|chflags|icacls -R|-i|+i|-b|--remove-all|-m|--modify|-x : changes protection of files
chattr|setfattr|chflags : changes protection of files
# disks
mkfs|mkfs.*|mke2fs|newfs|newfs_*|mkswap|mkntfs|mkdosfs|wipefs|blkdiscard|fdformat|badblocks|format|diskpart|bcachefs|mkreiserfs|hformat : formats a disk
fdisk|sfdisk|gdisk|sgdisk|cfdisk|parted|cgdisk|partprobe|growpart !-l|--list|-p|--print|print : changes partitions
hdparm --security-erase|--security-erase-enhanced|--security-set-pass|--write-sector|--trim-sector-ranges|-Y|--make-bad-sector|--dco-restore : changes a disk
nvme format|sanitize|delete-ns|fw-commit|fw-download|reset : erases a disk
smartctl|sdparm|sg_format --format|--fmtpinfo : formats a disk
diskutil erasedisk|erasevolume|zerodisk|secureerase|partitiondisk|reformat|randomdisk|eraseDisk|eraseVolume|zeroDisk|secureErase|partitionDisk|apfs|unmountDisk : erases a disk
cryptsetup luksformat|luksFormat|luksErase|erase|luksKillSlot|luksRemoveKey|luksHeaderRestore|reencrypt|luksClose|close|luksChangeKey : destroys encrypted data
lvremove|vgremove|pvremove|lvreduce|vgreduce|vgcfgrestore|lvconvert|vgsplit : removes volumes
zpool destroy|labelclear|detach|remove|offline|export|clear|replace|split|upgrade|initialize : changes a pool
zfs destroy|rollback|receive|recv|unmount|rename|promote|inherit : destroys data
btrfs subvolume|device|filesystem|balance delete|remove|resize|snapshot-delete : destroys data
mdadm --zero-superblock|--stop|-S|--remove|-r|--fail|-f|--create|-C|--zero : breaks an array
tune2fs|resize2fs|xfs_growfs|e2fsck|fsck|fsck.*|xfs_repair|ntfsresize|debugfs -w|-f|-y|-L|-O|-a|-p|-M : changes a file system
losetup -d|-D|--detach|--detach-all : detaches disks
umount|unmount -f|-l|-a|--force|--lazy|--all|-A : takes file systems away
umount ~/|/home|/var|/boot|/usr : takes file systems away
mount -o|--bind|--move ~*remount*|*remount,ro* : changes how a disk is mounted
swapoff|zramctl -a|--all|-r|--reset : takes memory away
dmsetup remove|remove_all|wipe_table|suspend|clear : removes devices
fstrim|blockdev --setro|--flushbufs|--setrw : changes a device
gio trash --empty : empties the bin
restic forget|prune|rebuild-index|unlock|repair|rewrite : deletes backups
borg delete|prune|compact|recreate|break-lock|rename : deletes backups
duplicity remove-older-than|remove-all-but-n-full|cleanup|remove-all-inc-of-but-n-full : deletes backups
kopia snapshot|repository|maintenance|policy delete|expire|disconnect : deletes backups
tmutil delete|deletelocalsnapshots|disable|deleteinprogress|thinlocalsnapshots|removedestination|setdestination : deletes backups
timeshift --delete|--delete-all|--restore : deletes or restores backups
snapper delete|undochange|rollback|cleanup|delete-config : deletes snapshots
rdiff-backup --remove-older-than|remove : deletes backups
bup|zbackup|attic|bupstash gc|rm|prune|delete : deletes backups
# processes and power
kill|skill ~-1|-9|-KILL|-SIGKILL|-s|-STOP|1|0|-15|-TERM|-HUP|-kill : kills processes
killall|pkill|xkill|killall5|snice|slay : kills processes
fuser -k|--kill|-K : kills processes
shutdown|reboot|halt|poweroff|init|telinit|pm-hibernate|pm-suspend|systemctl-reboot|rtcwake !-c|-k|--help|--show : stops the machine
systemctl|rc-service|service|sv|launchctl|initctl|supervisorctl|pm2|monit|s6-svc|rc-update|update-rc.d|chkconfig|brew-services|circusctl stop|restart|disable|mask|poweroff|reboot|halt|kill|isolate|emergency|rescue|suspend|hibernate|kexec|exit|unload|bootout|remove|delete|down|default|set-default|force-stop|unmonitor|shutdown|edit|revert|try-restart|force-reload|off|unlink|kickstart|set-property|hybrid-sleep|soft-reboot|switch-root|disable-now|reset-failed : stops services
service|rc-service|sv|invoke-rc.d * stop|restart|force-stop|reload|zap|down|kill : stops services
loginctl terminate-user|terminate-session|kill-user|kill-session|terminate-seat|lock-sessions|poweroff|reboot : ends sessions
# system
iptables|ip6tables|nft|ebtables|arptables|ufw|firewall-cmd|pfctl|ipfw|ipset !-L|-S|-n|--list|list|status|--list-all|--state|-nL|-vL|-nvL|--get-zones|-s|--check|-C|show : changes the firewall
iptables-restore|ip6tables-restore|nft-restore : changes the firewall
ip link|addr|address|route|rule|netns|neigh|neighbor|tunnel set|del|delete|flush|change|replace|down : changes the network
ifconfig * down|up|delete|-alias|promisc|mtu : changes the network
ifdown|nmcli-down|dhclient-r|rfkill|ifdown2 : cuts the network
route del|delete|flush|add|change : changes the network
nmcli connection|con|c|device|dev|d|radio|networking|n|r|general delete|down|disconnect|off|modify|mod|edit : changes the network
networksetup|scutil|systemsetup -setairportpower|-setnetworkserviceenabled|-setdnsservers|-setwebproxy|-removenetworkservice|--set|-setremotelogin|-setusingnetworktime|-setautoproxyurl|-setsecurewebproxy : changes the network
rfkill block : cuts the network
wg-quick|wg down|set : changes the network
tc qdisc : changes the network
hostnamectl|hostname|timedatectl|localectl set-hostname|set-time|set-ntp|set-timezone : changes the system
sysctl -w|--write|-p|--load : changes the kernel
sysctl ~*.*=* : changes the kernel
modprobe -r|--remove : removes drivers
rmmod|insmod|depmod|kextunload|kextload|kexec|kmutil : changes the kernel
setenforce|aa-disable|aa-teardown|aa-complain|apparmor_parser|spctl|csrutil|setsebool|auditctl|semanage !--status|status|-l|-s|--assess|list : weakens protection
grub-install|update-grub|grub-mkconfig|grub2-install|efibootmgr|bootctl|bless|nvram|dracut|mkinitcpio|update-initramfs|bcdedit|flashrom|fwupdmgr|fw_setenv|ipmitool !-p|-v|--verbose|status|list|get-updates|get-devices|sensor|sdr|/enum|get-history|info : changes how the machine starts
crontab -r|-d|-u : removes scheduled jobs
crontab - : replaces scheduled jobs
crontab * !-l|-e|--help : replaces scheduled jobs
at|atrm|batch|anacron !-l|-V : schedules commands
useradd|adduser|userdel|deluser|usermod|groupdel|delgroup|groupmod|addgroup|groupadd|vipw|vigr|visudo|chsh|chfn|pwconv|newusers|gpasswd|chage|chpasswd|faillock|dscl|sysadminctl|pwpolicy|dseditgroup|smbpasswd|pdbedit|samba-tool|kadmin|ipa|pam-auth-update|authselect|authconfig|passwd|grpck|lchage|luserdel|lusermod|net-user !-S|--status|-l|--list|.|list|-read|-list|--help|show|--show|-L : changes accounts
su|login|newgrp|runas : becomes another user
history -c|-d|-w : erases traces
journalctl --vacuum-time|--vacuum-size|--vacuum-files|--rotate : deletes logs
logrotate -f|--force : deletes logs
dmesg -c|-C|--clear|--read-clear : deletes logs
wevtutil cl|clear-log|sl : deletes logs
auditctl -D|-e : stops the audit
alias|unalias -a : changes commands
unset ~PATH|HOME|LD_LIBRARY_PATH : breaks the shell
chroot|pivot_root|switch_root : changes the root
# accounts of others, keys
ssh-keygen -R|-f|-y !-l|-F|-B|--help|-t : removes or replaces keys
ssh-add -D|-d : removes keys
ssh-copy-id : lets somebody in
ssh -R|-L|-D|-w|-fN|-fNR|-NR|-fNL : opens a tunnel
gpg|gpg2 --delete-key|--delete-keys|--delete-secret-keys|--delete-secret-key|--delete-secret-and-public-key|--export-secret-keys|--export-secret-subkeys|--gen-revoke|--quick-revoke-uid : deletes or leaks keys
security delete-keychain|delete-generic-password|delete-internet-password|dump-keychain|find-generic-password|find-internet-password|export|delete-certificate|add-trusted-cert|authorizationdb|lock-keychain|set-keychain-password|delete-identity : deletes or leaks keys
pass rm|generate|mv|init|edit|show|remove|delete : changes or shows passwords
vault delete|destroy|token|lease|operator|secrets|auth|policy|kv|write revoke|seal|rekey|disable|delete|destroy|metadata|rotate|raft|step-down|put|undelete : destroys secrets
vault delete|destroy|revoke|seal : destroys secrets
op|bw|lpass item|document|vault|delete|rm|user|group delete|remove|suspend|item|edit : changes passwords
kdestroy|certbot|openssl-revoke|acme.sh|step delete|revoke|--revoke|--remove|unregister : revokes certificates
secret-tool clear|lookup|store : changes or shows passwords
# network
nc|ncat|netcat|socat|telnet|nc.traditional -e|-c|--exec|--sh-exec|-l|--listen|-L|-lvp|-lvnp|-nlvp|-lp|-lk : opens the machine to others
socat ~*exec:*|*EXEC:*|*system:*|*SYSTEM:*|*LISTEN* : opens the machine to others
ngrok|cloudflared|localtunnel|lt|bore|frpc|pagekite|serveo|localhost.run|tailscale http|tcp|tls|start|tunnel|funnel|serve|local|--port|client|down|logout|--url|-c : opens the machine to others
lt -p|--port : opens the machine to others
tmate|teleconsole|gotty|ttyd|shellinabox|sshx|upterm : opens the machine to others
x11vnc|vncserver|xhost|x0vncserver +|-display|-nopw|-forever|:* : opens the machine to others
nmap|masscan|hydra|medusa|hping3|sqlmap|aircrack-ng|john|hashcat|nikto|msfconsole|msfvenom|ettercap|bettercap|arpspoof|slowloris|ab|siege|wrk|vegeta|hey|aireplay-ng|responder|mimikatz|patator|ncrack|dirb|gobuster|ffuf|wpscan|crackmapexec|dnsspoof|mdk4|reaver|metasploit !-v|-V : attacks or burdens others
mail|mailx|sendmail|mutt|msmtp|swaks|ssmtp|sendemail|s-nail|neomutt|himalaya : sends mail
ftp|lftp|sftp|ncftpput|tftp ~*put*|*mirror*-R*|*mput*|*rm*|*-b* : sends files away
telegram-send|slackcat|twurl|toot|rainbowstream : speaks to others
signal-cli send : speaks to others
# packages
apt|apt-get|aptitude|dnf|yum|zypper|microdnf|tdnf|opkg|xbps-remove|eopkg|urpme|pkg|pkgin|port|brew|snap|flatpak|choco|chocolatey|winget|scoop|nix-env|guix|apk|emerge|conda|mamba|micromamba|pip|pip3|uv|pipx|npm|pnpm|yarn|gem|cargo|composer|dotnet|mise|asdf|sdk|rustup|nvm|volta|poetry|pdm|rye|bundle|cpan|luarocks|opam|stack|cabal|ghcup|helm-plugin|pkg_delete|pkgutil|mas|softwareupdate|fnm|pyenv|rbenv|jenv|bun|deno|code|cursor|codium remove|purge|autoremove|erase|uninstall|rm|del|delete|unmerge|--purge|dist-upgrade|full-upgrade|system-upgrade|autopurge|downgrade|--uninstall|--uninstall-extension|zap|implode|--unmerge|-C|--depclean|unpublish|yank|deprecate|--forget : removes programs
dpkg|rpm|pacman|yay|paru -r|-P|--purge|--remove|-e|--erase|-R|-Rdd|-Rns|-Rs|-Rsc|-Rcns|-Rn|-Rc|--force-all|--force-depends|--nodeps|-Scc : removes programs
dpkg --force-*|-i : forces packages
apt|apt-get|dnf|yum|pacman --allow-downgrades|--allow-remove-essential|--force-yes|--allow-unauthenticated|--nogpgcheck|--allow-change-held-packages : forces packages
pip|pip3|pipx|uv|npm|pnpm|yarn|bun install|add ~git+http*|http://*|https://* : runs a stranger's code
npm|pnpm|yarn|cargo|gem|poetry|flit|hatch|uv|pdm|twine|dart|flutter|mvn|mvnw|gradle|gradlew|lerna|changeset|vsce|ovsx|snapcraft|pod|hex|mix|nuget|dotnet|luarocks|clojars|lein|sbt|conda|jsr|deno|goreleaser|semantic-release|np|wasm-pack|elm|spago|bun|rush|nx|docker-push|buf|modal|charmcraft publish|push|upload|release|deploy|trunk|dist-tag|owner|yank|unpublish|deprecate|publishToMavenLocal|hex.publish|access|transfer|lerna|workspaces|nuget : publishes to the world
twine upload : publishes to the world
dotnet nuget push|delete : publishes to the world
npm|pnpm|yarn run|exec|npx publish|release|deploy|release:prod|deploy:prod|db:reset|db:drop|deploy:production|nuke|destroy|purge|reset : runs what cannot be taken back
npm|pnpm|yarn|bun token|access|owner|team|org|profile|hook|star|adduser|logout create|revoke|grant|rm|add|destroy|set : changes an account
conda|mamba env remove : removes an environment
pip|pip3|npm|yarn install --index-url|--extra-index-url|--registry|-i|--trusted-host : installs from a stranger
# version control
git push -f|--force|--force-with-lease|--force-if-includes|--mirror|--delete|-d|--prune : overwrites or deletes what others have
git push ~+* : overwrites what others have
git push * ~:* : deletes a branch
git reset --hard|--merge|--keep : throws edits away
git clean -f|--force|-x|-X !-n|--dry-run : deletes files
git checkout -f|--force|--|.|-B|--ours|--theirs : throws edits away
git checkout ~.|*/ : throws edits away
git restore !--staged|-S|--help : throws edits away
git restore --worktree|-W : throws edits away
git switch -f|--force|--discard-changes|-C|--force-create : throws edits away
git branch -D|-d|--delete|-f|--force|-M : deletes a branch
git tag -d|--delete|-f|--force : deletes a tag
git stash drop|clear : throws edits away
git rebase --onto|--root|-f|--force-rebase|-x|--exec|-i|--interactive : rewrites history
git filter-branch|filter-repo|replace|fast-import|bfg !--abort|--continue|--show-current-patch|--help|--quit|--edit-todo|--skip : rewrites history
git reflog expire|delete : makes commits unrecoverable
git gc --prune : makes commits unrecoverable
git repack -a|-A : makes commits unrecoverable
git prune : makes commits unrecoverable
git update-ref -d|--stdin|--no-deref : deletes a branch
git update-ref ~refs/* : moves a branch
git symbolic-ref -d|--delete : deletes a branch
git worktree remove|prune|move : drops a work tree
git remote rm|remove|set-url|rename : changes where work goes
git rm !--cached|-n|--dry-run : deletes files
git rm --force|-f|-r : deletes files
git submodule deinit : drops submodules
git lfs prune|migrate|uninstall : rewrites history
git notes|rerere remove|prune|clear|forget : changes the repository
git config ~core.hooksPath|core.sshCommand|credential.helper|url.*|alias.*|core.fsmonitor|http.sslVerify : changes what git runs
git merge|pull|cherry-pick -X|--strategy-option|--strategy|--force : overwrites edits
git credential|credential-store|credential-cache|daemon|send-email : leaks or sends
bfg : rewrites history
hg strip|purge|update|revert|rollback|push|histedit|rebase|branch|prune -C|--clean|--all|-f|--force|--new-branch|--no-backup|--config|--close-branch|--keep : rewrites history
hg strip|purge|rollback|histedit|prune|forget|remove|rm|revert : rewrites history
svn delete|del|remove|rm|revert|cleanup|lock|unlock|propdel|pdel|propset|switch : deletes
svnadmin|svndumpfilter|p4|cvs|fossil|bzr|jj|darcs|sl load|exclude|obliterate|delete|revert|rm|remove|unlock|shun|purge|uncommit|abandon|unrecord|obliterate|rollback|hide|strip|scrub|rmtxns|setrevprop|admin : deletes
jj abandon|git|op|undo|squash|restore push|restore|abandon : rewrites history
# databases
dropdb|dropuser|mysqladmin|pg_ctl|pg_resetwal|pg_dropcluster|mariadb-admin|createuser|reindexdb|clusterdb|vacuumdb|pg_restore|pg_rewind|mysql_secure_installation|mongorestore|mysqlimport|pg_upgrade|pg_ctlcluster|redis-shutdown|influxd|arangorestore|pg_createcluster|pg_archivecleanup|mongo-restore|initdb !version|status|ping|processlist|--version|extended-status|variables|-l|--list|-V : changes a database
psql|mysql|mariadb|sqlite3|sqlcmd|mongosh|mongo|cqlsh|clickhouse-client|duckdb|sqlplus|isql|usql|cockroach|snowsql|bteq|db2|impala-shell|presto|trino|beeline|hive -f|--file|-i|--init|@*|<|-@ : runs unknown SQL
alembic downgrade|stamp|merge|upgrade-sql : takes tables away
manage.py|django-admin flush|reset_db|sqlflush|dropdb|clearsessions|changepassword|createsuperuser|remove_stale_contenttypes|clear|purge|truncate : empties the database
manage.py|django-admin migrate zero|--fake : takes tables away
flask db downgrade|drop|stamp : takes tables away
rails|rake|bin/rails|bundle|artisan|mix|knex|sequelize|sequelize-cli|typeorm|prisma|flyway|liquibase|goose|dbmate|sqlx|diesel|doctrine|bin/console|console|phinx|migrate|sql-migrate|atlas|sqitch|strapi|drush|occ|magento|dbt|yoyo|php db:drop|db:reset|db:rollback|db:migrate:reset|db:purge|db:schema:load|db:seed:replant|migrate:fresh|migrate:reset|migrate:rollback|migrate:refresh|db:wipe|ecto.drop|ecto.reset|ecto.rollback|rollback|db:migrate:undo:all|db:migrate:undo|schema:drop|drop|drop-all|dropAll|undo|revert|clean|reset|down|doctrine:database:drop|doctrine:schema:drop|db:truncate_all|sql-drop|site-install|user:delete|migration:revert|queue:flush|queue:clear|key:generate|rollbackCount|storage:clear : takes tables away
prisma|drizzle-kit|typeorm migrate|db|schema|push|migration reset|push|--force-reset|--accept-data-loss|drop|revert : takes tables away
wp db|post|user|plugin|theme|site|option|comment|term|media|cache|transient|core drop|reset|delete|clean|uninstall|empty|deactivate|search-replace|flush|import|--force|query|update|spam|trash|archive|downgrade : changes a site
redis-cli|valkey-cli|keydb-cli flushall|flushdb|shutdown|del|unlink|debug|config|slaveof|replicaof|script|eval|rename|move|migrate|restore|swapdb|cluster|client|acl|xtrim|ltrim|spop|getdel|failover|function|reset|FLUSHALL|FLUSHDB|SHUTDOWN|DEL|UNLINK|DEBUG|CONFIG|SLAVEOF|REPLICAOF|SCRIPT|EVAL|RENAME|CLUSTER|ACL|FAILOVER|GETDEL|CLIENT : deletes keys
etcdctl|etcdutl|consul|zkCli.sh|zookeeper-shell|nomad del|delete|rmr|deleteall|kv|member|snapshot|defrag|compaction|compact|auth|user|role|force-leave|leave|job|system|node|stop|namespace|acl|operator|alloc|lock|raft|services|maint|intention|restore : deletes keys
rabbitmqctl|rabbitmqadmin|rabbitmq-plugins|rabbitmq-queues reset|force_reset|delete|purge|purge_queue|delete_queue|delete_user|delete_vhost|stop|stop_app|shutdown|forget_cluster_node|clear_permissions|clear_password|change_password|set_permissions|set_user_tags|add_user|disable|close_connection|close_all_connections|kill|clear_policy|delete_exchange|rename_cluster_node|stop_rabbit|delete_member|rotate_logs|decommission_mqtt_node|enter_maintenance : deletes queues
kafka-topics|kafka-topics.sh|kafka-delete-records|kafka-delete-records.sh|kafka-consumer-groups|kafka-consumer-groups.sh|kafka-configs|kafka-configs.sh|kafka-acls|kafka-acls.sh|kafka-reassign-partitions.sh|kafka-storage.sh|rpk --delete|--delete-offsets|--reset-offsets|--alter|--offset-json-file|--remove|--execute|format|delete : deletes topics
kafka-delete-records|kafka-delete-records.sh : deletes records
rpk|kcat|kaf topic|group|cluster|security|acl delete|trim-prefix|seek : deletes topics
nats stream|consumer|kv|object|account|server|obj rm|purge|del|delete|rmm|cluster|edit : deletes streams
influx|influxd delete|bucket|org|user|auth|restore|stack|task : deletes data
elasticsearch-plugin|curator|elasticsearch-users|elasticsearch-node|opensearch-plugin|elasticsearch-reset-password remove|delete_indices|userdel|unsafe-bootstrap|detach-cluster|repurpose|* : deletes data
nodetool decommission|drain|removenode|assassinate|clearsnapshot|stopdaemon|truncatehints|cleanup|disablegossip|disablebinary|rebuild|move|resetlocalschema|garbagecollect : takes a node away
hdfs|hadoop|yarn-rm dfs|fs|namenode|dfsadmin|fsck -rm|-rmr|-rmdir|-expunge|-format|-delete|-skipTrash|-safemode|-truncate|-deleteSnapshot|-setSpaceQuota|-chmod|-chown|-move : deletes files
spark-submit|airflow|celery|dagster|prefect|luigi|rq db|dags|tasks|connections|variables|pools|users|purge|control|empty|flow|deployment|work-pool|kill reset|clean|delete|clear|purge|shutdown|--force|empty|-f|downgrade : deletes data
# running machines and clusters
virsh|vboxmanage|VBoxManage|multipass|vagrant|lima|limactl|colima|qm|pct|xe|incus|lxc|vmrun|prlctl|orb|tart|minikube|kind|k3d|k3s|k0s|microk8s|kubeadm|rdctl|machinectl|podman-machine|ctr|crictl|nerdctl|buildah|skopeo|distrobox|toolbox|utmctl|govc|proxmox-backup-client|ovirt-shell|openstack|esxcli|docker-machine|waydroid|anbox|k3s-uninstall.sh|talosctl : VERBS
k3s-uninstall.sh|k3s-agent-uninstall.sh|rke2-uninstall.sh|uninstall.sh : removes a cluster
ansible|salt|salt-ssh|bolt|pyinfra|fab|cap|capistrano|knife ~shell|command|raw|reboot|state.*|cmd.run|*reboot*|*shutdown*|service.stop|deploy|deploy:rollback|production|*rm *|*state=absent*|*state=stopped* !-C|--check|--noop : changes many machines
puppet apply|agent !--noop : changes a machine
ansible-playbook !-C|--check|--syntax-check|--list-tasks|--list-hosts|--list-tags|--version : changes many machines
terraform|tofu|terragrunt|opentofu|tf apply|destroy|taint|untaint|force-unlock|apply-all|destroy-all : changes infrastructure
terraform|tofu|terragrunt|opentofu|tf state|workspace rm|mv|push|replace-provider|delete : changes infrastructure
terragrunt run-all apply|destroy : changes infrastructure
pulumi|cdk|sst|serverless|sls|sam|amplify|architect|chalice|zappa|apex|encore|cdktf|crossplane|eksctl|kops|rosa|waypoint|nitric|sst-dev|cf|ibmcloud|oci|aliyun|tccli|hcloud|scw|linode-cli|vultr-cli|upctl|exo|civo|doctl|heroku|dokku|fly|flyctl|railway|koyeb|northflank|upsun|netlify|vercel|surge|wrangler|firebase|supabase|appwrite|nhost|neonctl|pscale|turso|atlas|mongocli|ccloud|confluent|databricks|snow|gh|glab|jira|sentry-cli|newrelic|datadog-ci|auth0|okta|stripe|twilio|shopify|contentful|sanity|hasura|apollo|circleci|buildkite-agent|drone|travis|jenkins-cli|argo|argocd|flux|tkn|kn|istioctl|linkerd|velero|kustomize|skaffold|tilt|helmfile|werf|devspace|okteto|rancher|oc|kubectl|kubectl.exe|k|kubecolor|microk8s.kubectl|k9s|aws|aws2|awslocal|gcloud|gsutil|bq|az|azcopy|s3cmd|s5cmd|mc|minio|b2|swift|rclone-delete|docker|docker-compose|podman|podman-compose|nerdctl|helm|exoscale|radius|clever|scalingo|gigalixir|fastly|cloudflare|bunny|dnscontrol|octodns|godaddy|namecheap|route53|cli53|gandi|ovh|vercel-cli|eb|ecs-cli|lightsail|saml2aws|k0sctl|kubectx|steampipe|nomad|juju|maas|snapctl|lxd|landscape-api|replicated|kots|deployctl|modal|replicate|huggingface-cli|hf|wandb|lms : : VERBS
# desktops and phones
defaults delete|write|import|rename : changes settings
pmset sleepnow|restoredefaults|schedule|-a|displaysleepnow : changes power
adb shell|reboot|uninstall|root|push|wipe|sideload|emu|reboot-bootloader ~rm|reboot*|uninstall|wipe|-rf|bootloader|recovery|clear|sideload : changes a phone
fastboot erase|flash|format|oem|flashing|reboot|wipe|-w|delete-logical-partition : erases a phone
fastboot -w : erases a phone
wall|write : speaks to all users
busctl|dbus-send|gdbus|qdbus ~*Reboot*|*PowerOff*|*Shutdown*|*StopUnit*|*Suspend*|*Terminate*|*Halt* : stops something
exportfs|showmount -u|-ua|-au : takes shares away
mongod --shutdown : stops the database
nginx -s ~stop|quit : takes a site down
apachectl|apache2ctl|httpd|haproxy|caddy|traefik stop|graceful-stop|-k : takes a site down
forever stop|stopall : stops services
screen -X : ends sessions
softwareupdate --restart|-R : restarts the machine
docker|podman|nerdctl push : puts something into the world
xdg-open|open|start|gnome-open ~*delete*|*confirm=*|*unsubscribe* : opens a link that acts
umask ~0|00|000|0000 : everything that is made is open to all
ulimit|prlimit -n|-u ~0|1|2 : takes resources away
tar -C|--directory ~/|/etc*|/usr* : unpacks over the system
vim|vi|nvim|ex|emacs -c|--cmd|--eval ~*!rm*|*!*sh*|*delete-file* : runs commands
git am|apply --reject-x : changes files
kubectl|oc|k rollout undo|restart : changes what runs
wp-cli|mix|composer|bundle deploy|self-update|--delete : changes what runs
"""


@dataclass(frozen=True, slots=True)
class ProgramRule:
    words: tuple[frozenset[str], ...]
    flags: tuple[frozenset[str], ...]
    without: frozenset[str]
    globs: tuple[tuple[str, ...], ...]
    reason: str


def _read(table: str) -> dict[str, list[ProgramRule]]:
    rules: dict[str, list[ProgramRule]] = {}
    for line in table.strip().splitlines():
        if line.startswith("#"):
            continue
        pattern, _, reason = line.rpartition(" : ")
        programs, *rest = pattern.split()
        words, flags, globs = [], [], []
        without: frozenset[str] = frozenset()
        for part in rest:
            if part[0] == "!":
                without |= frozenset(part[1:].split("|"))
            elif part[0] == "~":
                globs.append(tuple(part[1:].split("|")))
            elif part[0] == "-":
                flags.append(frozenset(part.split("|")))
            else:
                words.append(frozenset(part.split("|")))
        rule = ProgramRule(tuple(words), tuple(flags), without, tuple(globs), reason)
        for program in programs.split("|"):
            rules.setdefault(program, []).append(rule)
    return rules


_RULES: Final = _read(_TABLE)
_GLOBBED: Final = tuple(name for name in _RULES if "*" in name)
VERBS: Final = "VERBS"
"""In the place of a reason: whether it is dangerous depends on the verb among its words."""


def rules_for(program: str) -> list[ProgramRule]:
    found = _RULES.get(program, [])
    for name in _GLOBBED:
        if fnmatchcase(program, name):
            found = [*found, *_RULES[name]]
    return found


def fits(rule: ProgramRule, words: list[str]) -> bool:
    """`words`: the program's arguments."""
    if any(_has_flag(words, flag) for flag in rule.without):
        return False
    for flags in rule.flags:
        if not any(_has_flag(words, flag) for flag in flags):
            return False
    for globs in rule.globs:
        if not any(fnmatchcase(word, glob) for word in words for glob in globs):
            return False
    plain = [word for word in words if not word.startswith("-") or word == "-"][:6]
    at = 0
    for wanted in rule.words:
        while at < len(plain) and not ("*" in wanted or plain[at] in wanted or _has_any(words, wanted)):
            at += 1
        if at == len(plain) and not _has_any(words, wanted):
            return False
        at += 1
    return bool(words) or not (rule.words or rule.flags or rule.globs)


def _has_any(words: list[str], wanted: frozenset[str]) -> bool:
    """Flags among alternatives of words."""
    return any(flag[:1] == "-" and _has_flag(words, flag) for flag in wanted)


def _has_flag(words: list[str], flag: str) -> bool:
    if len(flag) == 2 and flag[0] == "-" and flag[1].isalpha():
        letter = flag[1]
        return any(w[:1] == "-" and w[:2] != "--" and letter in w[1:] and _is_cluster(w, letter) for w in words)
    return any(word == flag or (flag[:2] == "--" and word.startswith(flag + "=")) for word in words)


def _is_cluster(word: str, letter: str) -> bool:
    return word[1:].isalpha() and (len(word) <= 6 or word[1] == letter)

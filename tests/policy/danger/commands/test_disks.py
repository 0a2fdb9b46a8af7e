"""Disks, file systems and backups. Lines to ask about, and lines that must bother nobody."""

from server.policy.danger.commands.line import judge_shell

ASKED = r"""
wipefs -a /dev/sdb
fdisk /dev/sda
sgdisk --zap-all /dev/sda
hdparm --security-erase x /dev/sda
blkdiscard /dev/sda
zfs destroy -r tank/home
btrfs subvolume delete /home
swapoff -a
umount -f /home
diskutil eraseDisk APFS X disk2
tmutil delete /x
borg prune --keep-last 1 repo
losetup -D
sfdisk --delete /dev/sda
mkfs -t ext4 /dev/sdc1
sfdisk /dev/sda < layout
cryptsetup luksErase /dev/sda2
zpool destroy tank
pvremove /dev/sdb1
zfs rollback -r tank@a
btrfs subvolume delete /x
restic forget --prune --keep-last 1
diskutil apfs deleteContainer disk1
tmutil deletelocalsnapshots /
"""
QUIET = r"""
smartctl -a /dev/sda
fdisk -l
parted -l
zpool status
zfs list
btrfs filesystem df /
restic snapshots
borg list repo
tmutil status
diskutil list
mount
restic backup ~/x
"""


def test_what_cannot_be_taken_back_is_asked_about() -> None:
    assert [line for line in ASKED.strip().splitlines() if judge_shell(line) is None] == []


def test_what_is_done_every_day_asks_nothing() -> None:
    assert [line for line in QUIET.strip().splitlines() if judge_shell(line) is not None] == []

"""Programs that change disks, file systems and backups."""

from typing import Final

RULES: Final = """
formats a disk:
    mkfs|mkfs.*|mke2fs|newfs|newfs_*|mkswap|mkntfs|mkdosfs|wipefs|blkdiscard|fdformat|badblocks|format|diskpart|
        bcachefs|mkreiserfs|hformat
changes partitions:
    fdisk|sfdisk|gdisk|sgdisk|cfdisk|parted|cgdisk|partprobe|growpart !-l|--list|-p|--print|print
changes a disk:
    hdparm --security-erase|--security-erase-enhanced|--security-set-pass|--write-sector|--trim-sector-ranges|-Y|
        --make-bad-sector|--dco-restore
erases a disk:
    nvme format|sanitize|delete-ns|fw-commit|fw-download|reset
formats a disk:
    smartctl|sdparm|sg_format --format|--fmtpinfo
erases a disk:
    diskutil erasedisk|erasevolume|zerodisk|secureerase|partitiondisk|reformat|randomdisk|eraseDisk|eraseVolume|
        zeroDisk|secureErase|partitionDisk|apfs|unmountDisk
destroys encrypted data:
    cryptsetup luksformat|luksFormat|luksErase|erase|luksKillSlot|luksRemoveKey|luksHeaderRestore|reencrypt|
        luksClose|close|luksChangeKey
removes volumes:
    lvremove|vgremove|pvremove|lvreduce|vgreduce|vgcfgrestore|lvconvert|vgsplit
changes a pool:
    zpool destroy|labelclear|detach|remove|offline|export|clear|replace|split|upgrade|initialize
destroys data:
    zfs destroy|rollback|receive|recv|unmount|rename|promote|inherit
    btrfs subvolume|device|filesystem|balance delete|remove|resize|snapshot-delete
breaks an array:
    mdadm --zero-superblock|--stop|-S|--remove|-r|--fail|-f|--create|-C|--zero
changes a file system:
    tune2fs|resize2fs|xfs_growfs|e2fsck|fsck|fsck.*|xfs_repair|ntfsresize|debugfs -w|-f|-y|-L|-O|-a|-p|-M
detaches disks:
    losetup -d|-D|--detach|--detach-all
takes file systems away:
    umount|unmount -f|-l|-a|--force|--lazy|--all|-A
    umount ~/|/home|/var|/boot|/usr
changes how a disk is mounted:
    mount -o|--bind|--move ~*remount*|*remount,ro*
takes memory away:
    swapoff|zramctl -a|--all|-r|--reset
removes devices:
    dmsetup remove|remove_all|wipe_table|suspend|clear
changes a device:
    fstrim|blockdev --setro|--flushbufs|--setrw
empties the bin:
    gio trash --empty
deletes backups:
    restic forget|prune|rebuild-index|unlock|repair|rewrite
    borg delete|prune|compact|recreate|break-lock|rename
    duplicity remove-older-than|remove-all-but-n-full|cleanup|remove-all-inc-of-but-n-full
    kopia snapshot|repository|maintenance|policy delete|expire|disconnect
    tmutil delete|deletelocalsnapshots|disable|deleteinprogress|thinlocalsnapshots|removedestination|setdestination
deletes or restores backups:
    timeshift --delete|--delete-all|--restore
deletes snapshots:
    snapper delete|undochange|rollback|cleanup|delete-config
deletes backups:
    rdiff-backup --remove-older-than|remove
    bup|zbackup|attic|bupstash gc|rm|prune|delete
"""

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
overwrites a disk or an image:
    hdiutil create|eraseKeys|resize|burn|detach|eject|unmount -ov|-force|erasekeys|burn|resize
    asr restore|--restore|restoreexact
    ddrescue|dc3dd|dcfldd|bmaptool|usbimager|pv ~/dev/*|of=*
    partclone.*|fsarchiver|ntfsclone|xfsrestore restfs|restdisk|-r|-O|--overwrite
    e2label|xfs_admin|fatlabel|ntfslabel|e4defrag|fsfreeze
    qemu-img resize|commit|rebase
    iscsiadm|targetcli|drbdadm|gluster|ceph|rbd|rados|stratis|vdo|bcachectl logout|--logout|delete|down|detach|invalidate|stop|
        rm|remove|purge|destroy|out|rmpool|wipe-md|create-md|pool|zap|clearconfig
    storcli|storcli64|megacli|perccli|ssacli|arcconf|mvcli del|delete|destroy|remove|erase|init|-CfgClr|-CfgLdDel|clear
deletes or plays back backups:
    btrbk|sanoid|yabsnap clean|prune|rollback|delete|--prune-snapshots
    wal-g|pgbackrest|barman|xtrabackup|mariabackup delete|stanza-delete|expire|restore|recover|--copy-back|--move-back
    duplicacy|tarsnap|rustic|kopia|proxmox-backup-manager prune|forget|delete|-d|--nuke|purge|remove
fills the disk:
    fallocate|mkfile|truncate ~*[0-9][0-9][0-9]G*|*[0-9]T*|*[0-9][0-9]G
"""

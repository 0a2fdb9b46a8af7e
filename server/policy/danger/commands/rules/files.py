"""Programs that delete, overwrite or open up files."""

from typing import Final

RULES: Final = """
deletes files:
    rm|unlink|shred|srm|wipe|scrub|rimraf|trash-empty|rmdir|gshred|grm|sfill
    trash|trash-put|rip|trash-rm
    gio trash
overwrites without asking:
    mv -f|--force
moves into nothing:
    mv ~/dev/null
overwrites without asking:
    cp -f|--force|--remove-destination
empties a file:
    cp ~/dev/null
replaces what is there:
    ln -f|--force|-sf|-sfn
cuts a file:
    truncate -s|--size|-r|--reference
deletes what the source has not:
    rsync --delete|--delete-after|--delete-before|--delete-during|--delete-delay|--delete-excluded|
        --remove-source-files|--del|--force
deletes remote files:
    rclone sync|delete|purge|deletefile|cleanup|move|rmdirs|dedupe
overwrites or deletes files:
    tar --overwrite|--remove-files|--unlink-first|--recursive-unlink|--delete
unpacks over the system:
    tar -x|--extract ~/|/etc*|/usr*
overwrites without asking:
    unzip -o
    7z|7za|7zr -aoa|-sdel
deletes from an archive:
    7z|7za|7zr d
deletes files:
    zip -m|-d|--move|--delete
overwrites without asking:
    unrar -o+|-y
overwrites newer files:
    cpio -u|--unconditional
writes to a device or over a file:
    dd ~of=* !of=/dev/null
writes to the system:
    tee ~/dev/*|/etc/*|/boot/*|/proc/*|/sys/*|/usr/*|*/.ssh/*|*/.bashrc|*/.profile|*/.zshrc !/dev/null|/dev/stderr|
        /dev/stdout|/dev/tty
changes the system's files:
    sponge|ed|ex ~/etc/*
    sed|perl|ruby|gsed -i|--in-place ~/etc/*|/usr/*|/boot/*|*/.ssh/*|/var/*
deletes what it finds:
    find -delete
punches holes into a file:
    fallocate -p|--punch-hole|-c|--collapse-range|-z
writes to a device:
    split|csplit ~/dev/sd*
changes rights of a whole tree:
    chmod -R|--recursive
rights for nobody or for all:
    chmod ~000|0000|777|0777|a+w|o+w|a+rwx|ugo+rwx|666|0666|+s|u+s|g+s|4???|2???|6???|o+rwx|a=|a-rwx|u-r*|-r
changes the system's rights:
    chmod ~/|/etc*|/usr*|/bin*|/boot*|/var*
gives files away:
    chown|chgrp
changes protection of files:
    chattr|setfacl|chflags|icacls -R|-i|+i|-b|--remove-all|-m|--modify|-x
    chattr|setfattr|chflags
empties or rewrites a file:
    sed|gsed -i|--in-place ~d|1,$d|$d|/./d|/^/d|s/.*//|s/.*//g
    perl|ruby -pi|-i|-pie ~*s/.*//*
    ex|vim|vi|nvim ~*%d*|*:%d*
    ditto|rename|prename|mmv -f|--force|-o
    exiftool -overwrite_original|-all=
empties a file:
    install ~/dev/null
deletes files:
    cmake -E rm|remove|remove_directory
rewrites many files:
    sed|gsed -i|--in-place ~[*]*|[!s/]*[*]*
    mogrify
shrinks a file system:
    resize2fs|xfs_growfs|btrfs ~*[0-9][MGTmgt]
deletes files:
    fdupes|jdupes|rmlint|rdfind|fclones -d|--delete|-N|-deleteduplicates|remove
    bleachbit -c|--clean|-s|--shred|--wipe-free-space
    tmpreaper|tmpwatch|nwipe|dban|sfill|sswap
    lftp ~*mirror*--delete*|*mirror*-R*|*rm *
    syncthing --reset-database|--reset-deltas
encrypts files:
    openssl enc -in ~/*|~/*|*.doc*|*.xls*|*.pdf*
    gpg|gpg2 --multifile
    ccrypt|ccencrypt|7z|7za|zip -e|--encrypt|-sdel|-rm
gives a program or a file more rights:
    setcap
    xattr|setfattr -d|-c|-x|-w|-n|-dr|-cr
    chmod ~g+s|=777|=rwx|a+rwX|777*|u=rwxs|ugo=rwx|+rwx
runs commands:
    tar|gtar|bsdtar ~--checkpoint-action=exec*|--to-command*|--use-compress-program=*sh*|--rsh-command*
"""

"""Words of tools' names that say what is done only together, in any order."""

from typing import Final

_BY_REASON: Final = {
    "closes an account or ends a contract": """
        close account, konto loschen, konto schliessen, compte fermer, fermer compte, cerrar cuenta, cuenta cerrar,
        cancel subscription, cancel booking, cancel flight, cancel order, cancel reservation, cancel appointment,
        cancel all, cancel insurance, cancel contract, vertrag kundigen
    """,
    "stops something": """
        power off, shut down, shut off, cut power, force quit, scale zero, emergency stop, power cycle, breaker off,
        log out all, sign out all, logout everywhere, logout all, end all
    """,
    "switches a guard off": """
        turn off alarm, alarm off, alarm disable, security off, alarm aus, alarma desactivar, camera off, cameras
        off, detector off, smoke disable, mute alarm, silence alarm
    """,
    "spoils food, or lets something freeze": "freezer off, fridge off, boiler off",
    "opens the house": """
        open gate, open door, open garage, open lock, door open, garage open, gate open, tur offnen, tuer oeffnen,
        abrir puerta, ouvrir porte, open safe
    """,
    "lets out gas or water, or shuts it off": "open valve, valve open, valve set, valve main",
    "heat without anybody there": """
        gas on, fireplace on, grill on, ofen an, herd an, oven on, stove on, oven set, start oven, preheat oven,
        heater on, iron on, sauna on
    """,
    "starts a machine": """
        start car, car start, start engine, engine start, start mower, cnc start, laser start, start laser, drone
        takeoff, drone launch, drone fly, fly drone
    """,
    "sends in the user's name": """
        send email, send mail, gmail send, email send, mail send, outlook send, reply email, forward email, email
        forward, forward mail, auto forward, forwarding set, send fax, send letter, send invoice
    """,
    "speaks to many": """
        reply all, send newsletter, send campaign, campaign start, bulk sms, bulk send, bulk email, mass email, mass
        message
    """,
    "calls for help": """
        call emergency, emergency call, dial emergency, sos send, call police, call ambulance, dispatch ambulance,
        trigger alarm, trigger siren, alarm trigger
    """,
    "speaks in public": """
        post facebook, post twitter, post instagram, post linkedin, post reddit, post review, post tweet, social
        post, post social, submit review, post public, press release, create tweet, tweet post, post status, post
        mastodon, post bluesky, upload youtube, upload video, go live, reply review
    """,
    "spends money": """
        place order, create order, order food, order pizza, order taxi, order item, order product, create payment,
        send money, send crypto, send bitcoin, send payment, send funds, send eth, book flight, book hotel, book
        ticket, book train, book taxi, book ride, book trip, flight book, hotel book, ride request, request ride,
        reserve hotel, create charge, charge card, charge customer, stock order, order stock, crypto swap, swap
        tokens, stake tokens, direct debit, standing order, create mandate, renew subscription, start subscription,
        create subscription, upgrade plan, auto pay, gift card, wallet send, bank send, submit order, submit
        payment, top up, confirm order, rent car, call uber, call taxi
    """,
    "binds the user": """
        apply loan, loan apply, submit tax, submit return, file tax, submit application, submit claim, accept offer,
        accept contract, accept terms, book surgery, book appointment, reserve table, file taxes
    """,
    "cannot be taken back": """
        terraform apply, infra apply, remote wipe, firmware update, update firmware, ota update, flash firmware,
        write eeprom, run migration, migrate database, resize disk
    """,
    "shows something to others": """
        share file, share document, share folder, share public, share drive, make public, set public, set
        visibility, change visibility, share location, share screen, share album
    """,
    "gives away what is private": """
        export contacts, export passwords, export vault, export keys, export users, export secrets
    """,
    "gives rights away": """
        set permissions, set permission, change permissions, update permissions, add admin, make admin, create
        admin, add collaborator, add member, create iam, assign role, add role, set role, attach policy, put policy,
        set policy, add user, create user, create token, create api key, create access key, transfer ownership,
        change owner, set owner, ssh key
    """,
    "weakens protection": """
        firewall set, firewall off, firewall allow, firewall rule, open port, open firewall, expose port, branch
        protection, security group
    """,
    "may lock somebody out": """
        change password, set password, update password, change email, update phone, block user, lock user, lock
        account, freeze account, lock out, remote lock, update dns, set dns, dns update, dns set, change nameservers
    """,
    "runs a stranger's code": "install plugin, install extension, install app, run installer, install apk",
    "changes many": """
        force push, archive repository, archive project, archive all, move all, replace all, bulk update, bulk edit,
        mass update, update all, restore backup, backup restore, restore snapshot, restore database, import
        overwrite
    """,
    "puts something into the world": "production deploy",
}
PAIRS: Final = [(frozenset(pair.split()), reason) for reason, pairs in _BY_REASON.items() for pair in pairs.split(",")]

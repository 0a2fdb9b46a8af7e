"""Words of tools' names that say what is done only together, in any order."""

from typing import Final

from server.policy.danger.lexicon.meanings import meanings

_BY_REASON: Final = {
    "closes an account or ends a contract": """
        close account, konto loschen, konto schliessen, compte fermer, fermer compte, cerrar cuenta, cuenta cerrar,
        cancel subscription, cancel booking, cancel flight, cancel order, cancel reservation, cancel appointment,
        cancel all, cancel insurance, cancel contract, vertrag kundigen, cancel meeting, cancel meetings, cancel
        event, cancel events, cancel membership, cancel trip, cancel ticket, cancel tickets, cancel policy, cancel
        service, cancel delivery, cancel transfer, cancel payment, cancel train, cancel plan, cancel account,
        calendar cancel, decline all, send resignation
    """,
    "stops something": """
        power off, shut down, shut off, cut power, force quit, scale zero, emergency stop, power cycle, breaker off,
        log out all, sign out all, logout everywhere, logout all, end all
    """,
    "switches a guard off": """
        turn off alarm, alarm off, alarm disable, security off, alarm aus, alarma desactivar, camera off, cameras
        off, detector off, smoke disable, mute alarm, silence alarm, security disarm, backup off, backups off,
        backup policy, backup disable, monitoring off, alerts off, alert off, logging off, audit off, protection
        off, mfa off, 2fa off, encryption off, antivirus off, firewall allow, firewall open, waf off, tls off,
        detector mute, monitor mute, alerts mute, mute alerts, mute alert, silence alert, silence alerts, alert
        silence, pause backup, pause backups, pause monitoring, pause protection, pause alerts, skip backup,
        retention set, set retention, retention policy, lifecycle set, interlock bypass, interlock override, safety
        off, safety override, childlock off, parental off
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
        takeoff, drone launch, drone fly, fly drone, cnc run, run cnc, laser run, 3 print
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
        mastodon, post bluesky, upload youtube, upload video, go live, reply review, post job, job post, create
        listing, listing create, post ad, post photo, post video, post story, create post, reddit submit, submit
        reddit, youtube upload, video upload, tiktok upload, instagram upload, app submit, play submit, publish
        page, site publish, blog post, newsletter send, campaign send, respond review, review respond, review reply,
        press send, forum post, post forum, wiki publish, notify customers, notify users, notify subscribers, notify
        all, announce all, send announcement, send push, push notification, push send, alert send, send alert,
        emergency alert, page oncall, send bulk, sms bulk, sms campaign, message broadcast, broadcast message, mail
        merge, mass mail
    """,
    "spends money": """
        place order, create order, order food, order pizza, order taxi, order item, order product, create payment,
        send money, send crypto, send bitcoin, send payment, send funds, send eth, book flight, book hotel, book
        ticket, book train, book taxi, book ride, book trip, flight book, hotel book, ride request, request ride,
        reserve hotel, create charge, charge card, charge customer, stock order, order stock, crypto swap, swap
        tokens, stake tokens, direct debit, standing order, create mandate, renew subscription, start subscription,
        create subscription, upgrade plan, auto pay, gift card, wallet send, bank send, submit order, submit
        payment, top up, confirm order, rent car, call uber, call taxi, book appointment, book car, book tour, book
        course, book cab, book cruise, book seat, book seats, book restaurant, book table, book doctor, book venue,
        book tickets, book apartment, book rental, reserve table, reserve car, reserve flight, rent apartment, lease
        car, hire car, hotel reserve, ticket buy, ticket purchase, tickets purchase, pizza order, food order,
        grocery order, order groceries, order flowers, order medicine, taxi order, taxi book, cab order, schedule
        payment, payment schedule, set autopay, enable autopay, add payee, add beneficiary, add iban, invoice pay,
        bill pay, bills pay, rent pay, upgrade subscription, upgrade account, change plan, plan change, buy domain,
        renew domain, domain renew, redeem points, redeem voucher, redeem miles, points redeem, place bid, bid
        place, place bet, bet place, place trade, trade place, execute trade, trade execute, open position, close
        position, position close, exercise option, rebalance portfolio, portfolio rebalance, swap token, bridge
        tokens, mint nft, list nft, nft mint, nft transfer, ad budget, budget ads, increase budget, create ad,
        create ads, boost post, promote post, launch campaign, campaign launch, start campaign, payroll run, run
        payroll, bonus pay, set salary, update salary, salary update, change salary, raise salary, issue refund,
        issue payment, issue invoice, issue credit, invoice send, send gift, send tip, cash out, cashout request,
        request payout, add credit, add funds, funds add, capture payment, confirm payment, authorize payment,
        approve payment, approve invoice, approve expense, increase limit, limit increase, raise limit, create
        instance, launch instance, create cluster, cluster create, create vm, vm create, spot request, provision
        server, server provision, buy credits, credits buy, paypal send, venmo send, zelle send, wise send, revolut
        send, cashapp send, airbnb book, expedia book, booking book, make reservation, create reservation,
        restaurant reservation, table reservation, hotel reservation, create booking, make booking, confirm booking,
        confirm reservation, amazon order, instacart order, doordash order, ebay bid, shop order, shop buy
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
        visibility, change visibility, share location, share screen, share album, share calendar, share note, share
        notes, share photo, share photos, share video, share contact, share contacts, share link, share workspace,
        share dashboard, share recording, share report, share access, share password, share data, share medical,
        share page, share site, share health, file share, folder share, drive share, document share, location share,
        album share, calendar share, public share, public link, create public, link create, set privacy, privacy
        set, change privacy, profile public, repo public, repository public, start stream, stream start, start
        livestream, go public, camera share, share camera, screen share, export customers, export database, export
        users, export mailbox, export messages, export chat, download contacts, dump database, customers export,
        users export, contacts export, expose service, expose api, snapshot share, share snapshot
    """,
    "gives away what is private": """
        export contacts, export passwords, export vault, export keys, export users, export secrets
    """,
    "gives rights away": """
        set permissions, set permission, change permissions, update permissions, add admin, make admin, create
        admin, add collaborator, add member, create iam, assign role, add role, set role, attach policy, put policy,
        set policy, add user, create user, create token, create api key, create access key, transfer ownership,
        change owner, set owner, ssh key, add key, add ssh, ssh add, add deploy, deploy key, create apikey, create
        credentials, generate token, token create, generate key, api key create, create secret, set secret, secret
        set, update secret, secret update, secrets set, create webhook, webhook create, add webhook, authorize app,
        app authorize, oauth authorize, oauth grant, approve request, access approve, approve access, access grant,
        invite user, invite member, user invite, member invite, invite admin, invite guest, guest code, access code,
        door code, trust device, enroll device, share key, add delegate, delegate access, mailbox delegate, delegate
        mailbox, add owner, owner add, owner change, role update, role set, role change, change role, update role,
        permission set, permissions update, permissions set, permission grant, permission change, acl set, set acl,
        acl update, policy update, update policy, policy attach, policy put, iam policy, bucket policy, add
        permission, user create, account create, create account, admin create, user promote, create service account,
        add principal, assume role, set admin, visitor pass, role assign, slack invite, team invite, workspace
        invite, org invite, invite team, invite org, invite workspace, gitlab variable, github variable, ci
        variable, vault write, write vault
    """,
    "weakens protection": """
        firewall set, firewall off, firewall allow, firewall rule, open port, open firewall, expose port, branch
        protection, security group
    """,
    "may lock somebody out": """
        change password, set password, update password, change email, update phone, block user, lock user, lock
        account, freeze account, lock out, remote lock, update dns, set dns, dns update, dns set, change
        nameservers, change pin, set pin, update pin, change address, update address, change phone, change username,
        update email, set email, change billing, update billing, block card, card block, freeze card, card freeze,
        report lost, port number, number port, sim swap, swap sim, change recovery, set recovery, remove recovery,
        reset mfa, reset 2fa, mfa reset, suspend user, user suspend, expire password, force logout, session kill,
        change shipping, block contact, block number, end meeting, end meetings
    """,
    "runs a stranger's code": "install plugin, install extension, install app, run installer, install apk",
    "changes many": """
        force push, archive repository, archive project, archive all, move all, replace all, bulk update, bulk edit,
        mass update, update all, restore backup, backup restore, restore snapshot, restore database, import
        overwrite, archive page, archive board, archive channel, archive workspace, archive team, archive database,
        archive repo
    """,
    "puts something into the world": "production deploy",
    "acts on a patient": """
        update medical, medical update, medical edit, medical set, patient update, update patient, set patient, edit
        patient, medication update, update medication, set medication, change medication, add medication, order
        medication, set dose, adjust dose, change dose, dose set, set dosage, update prescription, order
        prescription, refill prescription, prescription refill, prescription create, create prescription, insulin
        set, pump bolus, infusion set, set infusion, infusion rate, pump set, set pump, ventilator set, set
        ventilator, pacemaker set, allergy update, update allergy, treatment start, start treatment
    """,
    "applies or registers in the user's name": """
        job application, job apply, apply job, apply for, apply visa, visa application, apply loan, loan
        application, credit application, submit exam, submit homework, submit thesis, submit paper, submit proposal,
        submit bid, submit petition, submit complaint, submit visa, submit registration, submit ballot, submit
        tender, submit resignation, file claim, file complaint, file lawsuit, file patent, claim file, claim submit,
        order submit, tax file, register course, register business, register domain, domain register, register
        vehicle, register marriage, give notice, give consent, opt in, opt out, leave review, write review, rsvp
        yes, ballot cast, cast ballot, cast vote, contract accept, contract sign, offer accept, lease sign, schedule
        surgery, surgery schedule, declare bankruptcy, report crime, report user, apply credit, apply card, apply
        insurance, apply mortgage
    """,
    "sends on what comes in": """
        mail rule, rule mail, email rule, rule email, inbox rule, mail filter, email filter, filter mail, filter
        email, rule inbox, forward message, forward document, forward file, forward invoice, forward call, forward
        calls, call forwarding, call forward, mail forwarding, email forwarding, forwarding enable, autoreply set,
        auto reply, auto respond, vacation responder, redirect mail, mail redirect, forwarding add
    """,
    "changes what others use": """
        maintenance mode, maintenance on, feature flag, kill switch, water main, gas main, leave group, leave channel, leave organization, leave server, leave team, fine tune, grade update, update grade, set grade, change grade, router ports, port forwarding, forward port, remote start, maintenance window, config push, push config, rollout start, start
        rollout, promote build, build promote, promote release, traffic shift, shift traffic, traffic split, dns
        record, record dns, dns change, change dns, dns add, add dns, update nameservers, nameserver set, route
        table, routes update, update firewall, firewall update, firewall add, add firewall, security rule, update
        security, ingress add, port open, ports open, load balancer, certificate replace, replace certificate,
        update certificate, rotate certificate, ssl update, schema apply, apply schema, schema change, migration
        run, migration apply, apply migration, db migrate, data migrate, index rebuild, config apply, apply config,
        apply manifest, manifest apply, helm upgrade, helm install, chart upgrade, infra deploy, stack update,
        update stack, stack create, playbook run, run playbook, runbook execute, execute runbook, ansible run, run
        ansible, workflow dispatch, dispatch workflow, pipeline prod, os update, update os, os upgrade, system
        upgrade, upgrade system, bios update, update bios, update kernel, upgrade database, database upgrade, resize
        instance, resize volume, resize cluster, cluster resize, instance resize, set replicas, replicas set, plc
        write, write plc, modbus write, write modbus, scada write, scada set, opcua write, set setpoint, setpoint
        set, breaker open, breaker close, open breaker, close breaker, pressure set, set pressure, pump start, start
        pump, robot move, move robot, robot arm, arm robot, car drive, drive car, summon car, car summon, car
        unlock, trunk open, open trunk, drone arm, vehicle start, start vehicle, remote start, engine on, ansible
        playbook, rollout undo, undo rollout, terraform run
    """,
}
PAIRS: Final = [
    (frozenset(meanings(pair)), reason) for reason, pairs in _BY_REASON.items() for pair in pairs.split(",")
]

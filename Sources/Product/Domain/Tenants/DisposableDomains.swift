import Text

/// Mail domains where anyone gets a mailbox for a few minutes. The list is never complete; a tenant
/// adds others to its own `blocked_domains`.
package enum DisposableDomains {
    /// Whether this domain (an A-label), or a domain of which it is a subdomain, is listed.
    static func contain(_ domain: String) -> Bool {
        suffixes(of: domain).contains { all.contains($0) }
    }

    /// Returns the domain and every domain above it, by whole labels: `a.b.c` gives `a.b.c`, `b.c`
    /// and `c`.
    static func suffixes(of domain: String) -> [String] {
        let labels = domain.split(separator: ".")
        return labels.indices.map { labels[$0...].joined(separator: ".") }
    }

    /// All listed domains: A-labels in lower case.
    package static let all = Set(
        list.split(whereSeparator: \.isWhitespace).map(String.init))

    private static let list = """
        0-mail.com 10minutemail.com 10minutemail.net 10minutemail.org 10minutesmail.com
        1secmail.com 1secmail.net 1secmail.org 20minutemail.com 20minutemail.it 2prong.com
        30minutemail.com 4warding.com 5ymail.com 60minutemail.com 9ox.net anonbox.net anonymbox.com
        antispam24.de armyspy.com bccto.me beefmilk.com binkmail.com bobmail.info bofthew.com
        boun.cr bouncr.com breakthru.com brefmail.com bugmenot.com bumpymail.com burnermail.io
        byom.de cachedot.net casualdx.com chacuo.net cool.fr.nf courriel.fr.nf crazymailing.com
        cuvox.de dayrep.com deadaddress.com despam.it devnullmail.com discard.email discardmail.com
        discardmail.de dispomail.eu disposableaddress.com disposableemailaddresses.com
        disposableinbox.com disposemail.com dispostable.com dodgeit.com dodgit.com dropmail.me
        dump-email.info dumpandjunk.com dumpmail.de dumpyemail.com e4ward.com einrot.com
        emailfake.com emailondeck.com emailsensei.com emailtemporanea.com emailtemporario.com.br
        emailwarden.com emltmp.com ephemail.net explodemail.com eyepaste.com fakeinbox.com
        fakemail.fr fakemail.net fakemailgenerator.com fastacura.com filzmail.com fleckens.hu
        fudgerub.com garliclife.com getairmail.com getnada.com getonemail.com gishpuppy.com grr.la
        guerrillamail.biz guerrillamail.com guerrillamail.de guerrillamail.info guerrillamail.net
        guerrillamail.org guerrillamailblock.com gustr.com harakirimail.com hidemail.de hidzz.com
        hmamail.com hulapla.de ieh-mail.de imails.info inboxalias.com inboxbear.com inboxkitten.com
        incognitomail.com incognitomail.org ipoo.org jetable.com jetable.fr.nf jetable.net
        jetable.org jourrapide.com kasmail.com klzlk.com kurzepost.de letthemeatspam.com
        lookugly.com lroid.com mail-temp.com mail-temporaire.fr mailcatch.com maildrop.cc
        mailexpire.com mailforspam.com mailimate.com mailin8r.com mailinater.com mailinator.com
        mailinator.net mailinator2.com mailmetrash.com mailmoat.com mailnesia.com mailnull.com
        mailpoof.com mailsac.com mailscrap.com mailshell.com mailslurp.com mailtemp.info
        mailtothis.com mailzilla.com meltmail.com mintemail.com minuteinbox.com moakt.com
        mohmal.com monemail.fr.nf monmail.fr.nf mt2015.com mvrht.net my10minutemail.com
        mytemp.email mytempmail.com mytrashmail.com nada.email neverbox.com no-spam.ws nobulk.com
        noclickemail.com nospam4.us nospamfor.us nowmymail.com objectmail.com onewaymail.com
        onlatedotcom.info pookmail.com privymail.de proxymail.eu putthisinyourspamdatabase.com
        quickinbox.com rcpt.at receiveee.com recode.me rhyta.com safetymail.info sharklasers.com
        shieldemail.com shitmail.me sofort-mail.de sogetthis.com spam4.me spamavert.com spambob.com
        spambog.com spambog.de spambox.us spamcero.com spamex.com spamfree24.com spamfree24.de
        spamfree24.org spamhereplease.com spamhole.com spaml.de spammotel.com spamobox.com
        spamspot.com superrito.com suremail.info teleworm.us temp-mail.io temp-mail.org
        temp-mail.ru tempail.com tempemail.co tempemail.com tempemail.net tempinbox.com
        tempmail.dev tempmail.eu tempmail.it tempmail.net tempmail.plus tempmailaddress.com
        tempmailo.com tempomail.fr temporaryemail.net temporaryinbox.com tempr.email
        thankyou2010.com throwam.com throwawayemailaddress.com throwawaymail.com tmail.ws
        tmailor.com tmpmail.net tmpmail.org trash-mail.at trash-mail.com trash-mail.de
        trash2009.com trashmail.at trashmail.com trashmail.de trashmail.io trashmail.me
        trashmail.net trashmail.ws trashymail.com trbvm.com tyldd.com uggsrock.com
        veryrealemail.com wegwerfadresse.de wegwerfemail.de wegwerfmail.de wegwerfmail.net
        wegwerfmail.org wh4f.org yopmail.com yopmail.fr yopmail.net zehnminutenmail.de
        zippymail.info zoemail.org
        """
}

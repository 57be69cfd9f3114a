/// Domains of mail for everyone. No list is whole: this one stops the usual mistakes, and proof of
/// the domain stops the rest.
enum PublicMailDomains {
    static let all: Set<String> = [
        "126.com", "163.com", "aol.com", "att.net", "bk.ru", "comcast.net", "duck.com",
        "fastmail.com", "fastmail.fm", "foxmail.com", "free.fr", "gmail.com", "gmx.at", "gmx.com",
        "gmx.de", "gmx.net", "googlemail.com", "hey.com", "hotmail.co.uk", "hotmail.com",
        "hotmail.de", "hotmail.fr", "hushmail.com", "icloud.com", "inbox.ru", "laposte.net",
        "libero.it", "list.ru", "live.com", "mac.com", "mail.com", "mail.ru", "me.com", "msn.com",
        "naver.com", "orange.fr", "outlook.com", "outlook.de", "pm.me", "posteo.de", "proton.me",
        "protonmail.com", "qq.com", "rediffmail.com", "rocketmail.com", "seznam.cz", "sina.com",
        "t-online.de", "tutanota.com", "ukr.net", "web.de", "yahoo.co.jp", "yahoo.co.uk",
        "yahoo.com", "yahoo.de", "yahoo.fr", "yandex.com", "yandex.ru", "ymail.com", "zoho.com",
    ]
}

import Outbound
import Storage
import Text

/// Renders a mail. Texts that other people wrote appear only in the body, and are escaped in HTML.
struct MailTemplate {
    /// The maximum length of a name in Unicode scalars. A longer name is cut.
    static let nameLimit = 100

    let mail: OutgoingMail

    private var senderName: String { Self.name(mail.tenantName ?? "Gatehouse") }

    private static func name(_ text: String) -> String {
        DisplayText.shortened(text, to: nameLimit)
    }

    /// The mail to send; `nil` if the recipient is not a valid address.
    func message(from: EmailAddress, id: UUID, date: Timestamp) -> MailMessage? {
        // The stored address may contain hidden characters, which were once accepted. The mail goes
        // to the address without them, which belongs to the same person.
        guard let to = try? EmailAddress(DisplayText.visible(mail.to), allowSingleLabel: true)
        else {
            return nil
        }
        return MailMessage(
            from: from,
            fromName: mail.tenantName.map { _ in "\(senderName) via Gatehouse" } ?? "Gatehouse",
            to: to, subject: subject, text: text, html: html, id: id, date: date)
    }

    private var subject: String {
        switch mail.kind {
        case .invite: "You are invited to \(senderName)"
        case .operatorLink: "Your sign-in link for the console of \(senderName)"
        case .accountGiven: "Your account at \(senderName) has a new owner"
        case .inviteDeclined: "An invite to \(senderName) was declined"
        case .domainLost: "A domain of \(senderName) can no longer be verified"
        case .emailChange: "Confirm your new address for \(senderName)"
        case .emailChanged: "Your address for \(senderName) was changed"
        case .merged: "Your accounts at \(senderName) were merged"
        case .mergeUndone: "Your accounts at \(senderName) were separated again"
        case .signInAdded: "A sign-in was added to your account at \(senderName)"
        case .joinApproved: "You may join \(senderName)"
        case .joinDeclined: "About your request to join \(senderName)"
        case .inactivityWarning: "You have not used your account at \(senderName) for a long time"
        case .operatorChanged: "Your operator account of \(senderName) was changed"
        case .operatorSignIn: "A new sign-in to the console of \(senderName)"
        case .operatorFactorRefused: "Another person may know your password at \(senderName)"
        case .passwordReset: "Set a new password for \(senderName)"
        case .notices: "\(noticed) notices about your account at \(senderName)"
        }
    }

    private var noticed: Int { mail.parts.count + more }

    /// The number of further notices that the mail mentions without their details.
    private var more: Int { mail.message.flatMap { Int($0) } ?? 0 }

    private var opening: String {
        switch mail.kind {
        case .invite:
            "\(Self.name(mail.inviter ?? "An administrator")) invites you to join \(senderName)"
                + (mail.role.map { " as \($0)." } ?? ".")
        case .operatorLink: "You were made an operator of \(senderName)."
        case .accountGiven:
            "An account at \(senderName) was given to the person who proved that its address is theirs. "
                + "Earlier passwords, sessions and keys no longer work:"
        case .inviteDeclined:
            "The person whom you invited to \(senderName) declined. The invite is revoked:"
        case .domainLost:
            "The DNS record that proves a domain of \(senderName) is missing. Please restore it:"
        case .emailChange:
            "Somebody, probably you, asked to use this address for your account at \(senderName)."
        case .emailChanged:
            "Your account at \(senderName) now has another address instead of this one:"
        case .merged:
            "You had two accounts at \(senderName), and an administrator merged them. "
                + "All your sign-ins lead to the one that remains; its address is:"
        case .mergeUndone:
            "An administrator separated your accounts at \(senderName) again. Each has its own "
                + "sign-ins; please sign in again. The other account's address:"
        case .joinApproved:
            "You asked to join \(senderName), and an administrator let you in."
                + (mail.message == nil ? "" : " Their message:")
        case .joinDeclined:
            "You asked to join \(senderName), and an administrator did not let you in."
                + (mail.message == nil ? "" : " Their message:")
        case .inactivityWarning:
            "You have not used your account at \(senderName) for a long time."
                + (mail.message == nil
                    ? "" : " If you do not use it, it will be suspended on or after this day:")
        case .signInAdded: "From now on you can also sign in at \(senderName) by:"
        case .operatorChanged:
            "How you sign in to the console of \(senderName) was changed:"
        case .operatorSignIn:
            "Your account signed in to the console of \(senderName) in a browser that it had not "
                + "used before:"
        case .operatorFactorRefused:
            "Your correct password was entered at the console of \(senderName), and then wrong "
                + "codes:"
        case .passwordReset:
            "Somebody, probably you, asked to set a new password for \(senderName)."
        case .notices:
            "There were many notices about your account at \(senderName), so this mail collects "
                + "them. The last \(noticed) notices, the oldest first:"
        }
    }

    private var action: String {
        switch mail.kind {
        case .invite: "Accept the invite"
        case .operatorLink: "Sign in"
        case .accountGiven: "About the account"
        case .inviteDeclined: "See the invites"
        case .domainLost: "See the domains"
        case .emailChange: "Confirm the address"
        case .emailChanged, .signInAdded, .merged, .mergeUndone, .joinApproved, .joinDeclined,
            .inactivityWarning:
            ""
        case .operatorChanged, .operatorSignIn, .operatorFactorRefused:
            "This was not me: end all sessions"
        case .passwordReset: "Set a new password"
        case .notices: ""
        }
    }

    private var ending: String {
        let end = mail.expiresAt.description.utf8.prefix(16).map {
            $0 == UInt8(ascii: "T") ? UInt8(ascii: " ") : $0
        }
        if mail.kind == .domainLost {
            return "If it is still missing on \(String(decoding: end.prefix(10), as: UTF8.self)), "
                + "people can no longer join by that domain. Members keep their access."
        }
        if mail.kind == .emailChanged || mail.kind == .signInAdded {
            return "If that was not you, tell your administrator at once."
        }
        if [.operatorChanged, .operatorSignIn, .operatorFactorRefused].contains(mail.kind) {
            return "If that was you, there is nothing to do. If not, press the button at the link: "
                + "every session and the password end, and you set a new one. The link works once, "
                + "until \(String(decoding: end, as: UTF8.self)) UTC. Then tell the owner of the "
                + "console."
        }
        if [.accountGiven, .merged, .mergeUndone].contains(mail.kind) {
            return "If this is a mistake, tell the administrator of \(senderName)."
        }
        if mail.kind == .inactivityWarning {
            return
                "To keep it, sign in as usual. This mail contains no link to follow."
        }
        if mail.kind == .joinApproved { return "Sign in again in the same way as before." }
        if mail.kind == .joinDeclined {
            return
                "You may ask again in 30 days. You will get no further mail about this until then."
        }
        if mail.kind == .inviteDeclined {
            return "To ask again, send a new invite. The person is not reminded automatically."
        }
        return "The link works once, until \(String(decoding: end, as: UTF8.self)) UTC. "
            + "If you did not expect this mail, ignore it."
    }

    /// The token in the link: the text after `#` and `=`. `nil` if the link has no token. Some mail
    /// programs cut off this part of a link, so the mail also shows the token separately.
    private var code: String? {
        let rest = mail.link.utf8.drop { $0 != UInt8(ascii: "#") }.drop { $0 != UInt8(ascii: "=") }
        return rest.isEmpty ? nil : String(decoding: rest.dropFirst(), as: UTF8.self)
    }

    private static let codeLead = "If the page asks for a code, this is it:"

    private var uncounted: String? {
        more > 0 ? "And \(more) more, which are in the audit log of \(senderName)." : nil
    }

    private var text: String {
        var parts = [opening]
        if mail.kind == .notices {
            parts += mail.parts.map { "* " + MailTemplate(mail: $0).text }
            if let uncounted { parts.append(uncounted) }
            return parts.joined(separator: "\n\n") + "\n"
        }
        if let message = mail.message { parts.append(message) }
        if !mail.link.isEmpty { parts.append("\(action):\n\(mail.link)") }
        if let code { parts.append("\(Self.codeLead)\n\(code)") }
        parts.append(ending)
        return parts.joined(separator: "\n\n") + "\n"
    }

    private var html: String {
        "<!doctype html>\n<html lang=\"en\"><body>\n\(paragraphs.joined(separator: "\n"))\n"
            + "</body></html>\n"
    }

    private var paragraphs: [String] {
        var parts = ["<p>\(htmlEscaped(opening))</p>"]
        if mail.kind == .notices {
            for part in mail.parts { parts += ["<hr>"] + MailTemplate(mail: part).paragraphs }
            if let uncounted { parts.append("<hr><p>\(htmlEscaped(uncounted))</p>") }
            return parts
        }
        if let message = mail.message {
            let lines = message.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            parts.append(
                "<blockquote>\(lines.map { htmlEscaped($0) }.joined(separator: "<br>"))</blockquote>"
            )
        }
        if !mail.link.isEmpty {
            parts.append("<p><a href=\"\(htmlEscaped(mail.link))\">\(action)</a></p>")
        }
        if let code { parts.append("<p>\(Self.codeLead)<br><code>\(htmlEscaped(code))</code></p>") }
        parts.append("<p>\(htmlEscaped(ending))</p>")
        return parts
    }
}

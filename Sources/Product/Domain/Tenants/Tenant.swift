import Glibc
import Text

/// The states that a tenant can have.
package enum Tenant {
    package enum Status: String, Sendable, CaseIterable { case active, suspended, deleted }
}

/// Whether a user may act, judged by the status of the tenant and of the user.
package enum Standing: Sendable {
    case active, tenantSuspended, userSuspended
    /// The user may not act: the tenant is deleted, or the user is pending or deleted.
    case ended

    package init(tenant: Tenant.Status, user: User.Status) {
        self =
            switch (tenant, user) {
            case (.active, .active): .active
            case (.suspended, _): .tenantSuspended
            case (.active, .suspended): .userSuspended
            default: .ended
            }
    }
}

/// The appearance of a tenant's sign-in, invite and join pages.
package struct Appearance: Sendable, Equatable {
    /// A name to show instead of the tenant's; 1 to 64 characters.
    package var name: String?
    /// The colour of the buttons: `#rrggbb`, in lower case.
    package var accent: String?
    /// The SHA-256 hash of the logo's content, in hexadecimal digits.
    package var logo: String?

    package init(name: String? = nil, accent: String? = nil, logo: String? = nil) {
        self.name = name
        self.accent = accent
        self.logo = logo
    }

    /// The path of the logo below the server's own address.
    package var logoPath: String? { logo.map { "/assets/logos/\($0)" } }

    /// The colour of text on the accent: black or white, whichever is more readable. On every
    /// colour one of them has a contrast of at least 4.5 (WCAG 2.2, 1.4.3).
    package var ink: String? {
        guard let accent, let colour = Int(accent.dropFirst(), radix: 16) else { return nil }
        let parts = [16, 8, 0].map { shift -> Double in
            let part = Double(colour >> shift & 0xFF) / 255
            return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4)
        }
        let luminance = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
        return (luminance + 0.05) * (luminance + 0.05) > 0.05 * 1.05 ? "#000000" : "#ffffff"
    }

    /// Whether the text is `#` followed by six hexadecimal digits, in upper or lower case.
    package static func isAccent(_ text: String) -> Bool {
        text.utf8.count == 7 && text.hasPrefix("#")
            && text.utf8.dropFirst().allSatisfy {
                (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
                    || (0x41...0x46).contains($0)
            }
    }
}

import JSON
import Text

/// When a provider's token was issued, to be compared with the end of all the user's sessions.
package enum TokenTime: Sendable, Equatable {
    /// Whole seconds since 1970.
    case at(Int64)
    /// The token does not say, so it may be older.
    case unknown
    /// A code flow of ours: when it was begun, by our clock, and when the provider last asked the
    /// person, in whole seconds since 1970; nil: it does not say.
    case begun(Timestamp, authenticatedAt: Int64?)

    /// Seconds by which a provider's clock may be behind.
    package static let leeway: Int64 = 60

    /// `auth_time`, else `iat` (OpenID Connect Core section 2): a silently renewed token is as old
    /// as the sign-in behind it, if the provider sends `auth_time`.
    package init(claims: JSONValue) {
        self =
            (Self.seconds(claims["auth_time"]) ?? Self.seconds(claims["iat"])).map(Self.at)
            ?? .unknown
    }

    /// Whether the token is older than the last sign-out everywhere. In whole seconds: one of the
    /// same second is refused. A code flow counts by when it was begun here, whatever the clock of its
    /// provider, and by when the provider asked the person.
    package func isRefused(signedOutAt: Timestamp?) -> Bool {
        guard let signedOutAt else { return false }
        return switch self {
        case .at(let seconds): seconds <= signedOutAt.microseconds / 1_000_000
        case .unknown: true
        case .begun(let time, _): time < signedOutAt || isStale(signedOutAt: signedOutAt)
        }
    }

    /// Whether it would do if the provider asked the person anew.
    package func isStale(signedOutAt: Timestamp) -> Bool {
        guard case .begun(let time, let asked?) = self, time >= signedOutAt else { return false }
        return asked + Self.leeway < signedOutAt.microseconds / 1_000_000
    }

    /// A NumericDate (RFC 7519 section 2) without its fraction; nil if it is not one.
    private static func seconds(_ value: JSONValue?) -> Int64? {
        guard case .number(let text) = value else { return nil }
        let whole = text.utf8.prefix { $0 != UInt8(ascii: ".") }
        guard whole.count <= 12, let seconds = ASCII.number(whole, digits: 12) else { return nil }
        return Int64(seconds)
    }
}

/// The provider's token is older than the last sign-out everywhere: nothing was written.
package struct TokenOutdated: Error {
    /// Only the person's own sign-in at the provider is older: it may ask anew.
    package var isStale = false
}

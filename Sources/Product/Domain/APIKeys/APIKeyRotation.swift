import Text

/// Changes of a key's secret. Each is pure; a failure leaves the key as it was.
package enum APIKeyRotation {
    /// Seconds that the old secret may stay valid.
    package static let graces: ClosedRange<Int64> = 0...(7 * 86_400)

    package enum Failure: Error, Sendable, Equatable {
        /// A new secret does not reactivate a revoked or expired key.
        case notLive
        case graceOutOfRange
        /// There is no old secret that still works.
        case nothingInGrace
    }

    /// The new secret is valid at once. An older previous secret ends: there is at most one.
    package static func rotate(
        _ key: APIKey, to secret: APIKey.Secret, grace: Int64, now: Timestamp
    ) throws(Failure) -> APIKey {
        try checkLive(key, now)
        guard graces.contains(grace) else { throw .graceOutOfRange }
        var next = key
        next.previous =
            grace == 0
            ? nil : APIKey.Previous(secret: key.current, until: now.adding(seconds: grace))
        next.current = secret
        return next
    }

    /// Cut now: the old secret ends.
    package static func cut(_ key: APIKey, now: Timestamp) throws(Failure) -> APIKey {
        guard key.livePrevious(at: now) != nil else { throw .nothingInGrace }
        var next = key
        next.previous = nil
        return next
    }

    /// Roll back while the old secret lives: it is the current one again, the new one ends.
    package static func rollBack(_ key: APIKey, now: Timestamp) throws(Failure) -> APIKey {
        try checkLive(key, now)
        guard let previous = key.livePrevious(at: now) else { throw .nothingInGrace }
        var next = key
        next.current = previous.secret
        next.previous = nil
        return next
    }

    private static func checkLive(_ key: APIKey, _ now: Timestamp) throws(Failure) {
        switch key.status(at: now) {
        case .active, .grace: return
        case .revoked, .expired: throw .notLive
        }
    }
}

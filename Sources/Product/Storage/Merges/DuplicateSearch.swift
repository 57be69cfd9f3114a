import Domain
import Postgres
import Text

extension TenantScope {
    /// The maximum number of possible duplicates that are found for one user by one address or
    /// subject. It is also the maximum number of external ids that are looked up for one user.
    static let partnerLimit = 5

    /// The possible duplicates of the users of one page, and the page itself. A pair has one item
    /// of evidence for each look-up that found it. An address counts as verified only if a trusted
    /// provider reported it.
    package func duplicates(
        _ list: ListQuery
    ) async throws(PostgresError) -> (pairs: [DuplicatePair], page: ListPage<UserRow>) {
        let page = try await users(list, UserFilter())
        var search = DuplicateSearch(page.rows)
        try search.add(await readLagging(search.addresses(in: tenant)), as: .verifiedAddress)
        try search.add(await readLagging(search.sharedAddresses(in: tenant)), as: .verifiedAddress)
        try search.add(await readLagging(search.subjects(in: tenant)), as: .subject)
        try search.add(await readLagging(search.spellings(in: tenant)), as: .spelling)
        try search.add(await readLagging(search.sharedSpellings(in: tenant)), as: .spelling)
        try search.add(await readLagging(search.externalIDs(in: tenant)), as: .externalID)
        var known: [UUID: UserRow] = [:]
        for user in page.rows { known[user.id] = user }
        let missing = search.partners.subtracting(known.keys)
        if !missing.isEmpty {
            var filter = UserFilter()
            filter.ids = Array(missing)
            let rest = ListQuery(limit: missing.count, total: ListTotal(counted: 0))
            for user in try await users(rest, filter).rows { known[user.id] = user }
        }
        return (search.pairs(of: known), page)
    }
}

/// The look-ups for one page of users. Each reads a few rows through one index.
struct DuplicateSearch {
    private struct Pair: Hashable {
        var user: UUID
        var partner: UUID
    }

    /// The parameters of a look-up as parallel arrays: the users, their texts to look up, and the
    /// providers.
    private typealias Asked = (users: [UUID], texts: [String], providers: [String])

    private let users: [UserRow]
    private var order: [Pair] = []
    private var found: [Pair: [DuplicateEvidence]] = [:]

    init(_ users: [UserRow]) {
        self.users = users.filter { Self.isMergeable($0) }
    }

    var partners: Set<UUID> { Set(order.map(\.partner)) }

    private static func isMergeable(_ user: UserRow) -> Bool {
        [.pending, .active].contains(user.status)
    }

    mutating func add(_ rows: Rows, as kind: DuplicateEvidence.Kind) throws(PostgresError) {
        for row in rows {
            let pair = Pair(user: try row.get(0), partner: try row.get(1))
            let evidence = DuplicateEvidence(kind: kind, value: try row.get(2))
            if found[pair] == nil { order.append(pair) }
            if found[pair]?.contains(evidence) != true { found[pair, default: []].append(evidence) }
        }
    }

    func pairs(of known: [UUID: UserRow]) -> [DuplicatePair] {
        order.compactMap { pair in
            guard let first = known[pair.user], let second = known[pair.partner],
                Self.isMergeable(second), let evidence = found[pair]
            else { return nil }
            return DuplicatePair(first: first, second: second, evidence: evidence)
        }
    }

    private func asked(_ texts: (UserRow) -> [(text: String, provider: String)]) -> Asked {
        var asked: Asked = ([], [], [])
        for user in users {
            for (text, provider) in texts(user) {
                asked.users.append(user.id)
                asked.texts.append(text)
                asked.providers.append(provider)
            }
        }
        return asked
    }

    private static func trusted(_ user: UserRow) -> [String] {
        user.identities.filter(\.isEmailTrusted).compactMap(\.email)
    }

    /// Finds pairs of users: an identity of one user has an address that a trusted provider
    /// reported, and this address is the other user's own address.
    func addresses(in tenant: UUID) -> SQL {
        let asked = asked { user in
            Self.trusted(user).compactMap { text in
                (try? EmailAddress(text)).map { ($0.key, "") }
            }
        }
        return Self.atAddress(asked, tenant)
    }

    /// Finds users whose own address is the plain spelling of another user's address.
    func spellings(in tenant: UUID) -> SQL { Self.atAddress(plainSpellings, tenant) }

    /// Finds users whose addresses have the same plain spelling but are both written differently.
    /// Each pair is found once, from the user with the lower id.
    func sharedSpellings(in tenant: UUID) -> SQL {
        """
        SELECT a.user_id, o.id, a.text
        FROM unnest(\(plainSpellings.users)::uuid[], \(plainSpellings.texts)::text[])
                AS a (user_id, text),
            LATERAL (SELECT id FROM users WHERE tenant_id = \(tenant) AND plain_key = a.text
                AND id > a.user_id AND status <> 'deleted'
                ORDER BY id LIMIT \(raw: "\(TenantScope.partnerLimit)")) AS o
        """
    }

    /// The users whose address differs from its plain spelling, with that plain spelling.
    private var plainSpellings: Asked {
        asked { user in
            guard let key = (try? EmailAddress(user.email))?.key,
                let plain = Self.plainSpelling(of: key), !sameBytes(plain, key)
            else { return [] }
            return [(plain, "")]
        }
    }

    /// Finds users who have the external id that a row of an import gives to another user.
    func externalIDs(in tenant: UUID) -> SQL {
        """
        SELECT a.user_id, o.id, r.external_id
        FROM unnest(\(users.map(\.id))::uuid[]) AS a (user_id),
            LATERAL (SELECT DISTINCT external_id FROM job_rows
                WHERE tenant_id = \(tenant) AND target_id = a.user_id AND external_id IS NOT NULL
                LIMIT \(raw: "\(TenantScope.partnerLimit)")) AS r,
            LATERAL (SELECT id FROM users WHERE tenant_id = \(tenant)
                AND external_id = r.external_id AND status <> 'deleted' LIMIT 1) AS o
        WHERE o.id <> a.user_id
        """
    }

    /// The address without dots and without what follows a plus sign; `nil` if nothing is left.
    static func plainSpelling(of key: String) -> String? {
        guard let at = key.lastIndex(of: "@") else { return nil }
        let local = key[..<at].prefix { $0 != "+" }.filter { $0 != "." }
        return local.isEmpty ? nil : local + key[at...]
    }

    private static func atAddress(_ asked: Asked, _ tenant: UUID) -> SQL {
        """
        SELECT a.user_id, o.id, a.text
        FROM unnest(\(asked.users)::uuid[], \(asked.texts)::text[]) AS a (user_id, text),
            LATERAL (SELECT id FROM users WHERE tenant_id = \(tenant) AND email_key = a.text
                AND status <> 'deleted' LIMIT 1) AS o
        WHERE o.id <> a.user_id
        """
    }

    /// Finds other users with an identity for which a trusted provider reported the same address.
    /// Each pair with the same spelling is found once, from the user with the lower id. An address
    /// with capitals is also looked up in its normalised spelling.
    func sharedAddresses(in tenant: UUID) -> SQL {
        let asked = asked { user in
            Self.trusted(user).flatMap { text in
                let key = (try? EmailAddress(text))?.key ?? text
                return sameBytes(key, text) ? [(text, "")] : [(text, ""), (key, "plain")]
            }
        }
        return """
            SELECT a.user_id, o.user_id, a.text
            FROM unnest(\(asked.users)::uuid[], \(asked.texts)::text[], \(asked.providers)::text[])
                    AS a (user_id, text, form),
                LATERAL (SELECT user_id FROM identities WHERE tenant_id = \(tenant)
                    AND email = a.text AND email_vouched AND user_id <> a.user_id
                    AND (a.form = 'plain' OR user_id > a.user_id)
                    LIMIT \(raw: "\(TenantScope.partnerLimit)")) AS o
            """
    }

    /// Finds other users with the same subject at the same kind of provider, for example under
    /// another issuer. Password identities never match, since their subject is the user's own id.
    func subjects(in tenant: UUID) -> SQL {
        let asked = asked { user in
            user.identities.map { ($0.subject, $0.provider) }
        }
        return """
            SELECT a.user_id, o.user_id, a.text
            FROM unnest(\(asked.users)::uuid[], \(asked.texts)::text[], \(asked.providers)::text[])
                    AS a (user_id, text, provider),
                LATERAL (SELECT user_id FROM identities WHERE tenant_id = \(tenant)
                    AND subject = a.text AND provider = a.provider AND user_id > a.user_id
                    LIMIT \(raw: "\(TenantScope.partnerLimit)")) AS o
            """
    }
}

/// Two users who may be one person.
package struct DuplicatePair: Sendable {
    package var first: UserRow
    package var second: UserRow
    /// Why the two users may be one person; at least one item.
    package var evidence: [DuplicateEvidence]
}

/// Why two users may be one person.
package struct DuplicateEvidence: Sendable, Hashable {
    package enum Kind: String, Sendable, CaseIterable {
        /// A trusted provider reported the same address for both users, or reported for one user
        /// the address of the other.
        case verifiedAddress = "verified_address"
        /// Both users have the same subject at the same kind of provider, under different issuers.
        case subject
        /// Both addresses are the same without dots and without what follows a plus sign. This is
        /// weak evidence.
        case spelling
        /// A row of an import gives one user the external id that the other user has.
        case externalID = "external_id"
    }

    package var kind: Kind
    /// The address, the subject or the external id by which the pair was found.
    package var value: String
}

import Cryptography
import Domain
import HTTP
import JSON
import Outbound
import Synchronization
import Text

/// Fetches and caches the documents that providers publish. Callers who wait for the same documents
/// share one fetch. Tokens with unknown keys cause at most one fetch a minute for each provider.
package final class ProviderDocuments: Sendable {
    static let providerLimit = 1024
    /// The minimum number of seconds between two fetches. `intervalAfterFailure` applies instead
    /// while there are no usable documents.
    package static let leastInterval: Int64 = 60
    package static let intervalAfterFailure: Int64 = 5
    /// The number of seconds after which the documents are fetched again. `lifetime` is the number
    /// of seconds after which they are no longer used.
    package static let freshness: Int64 = 600
    package static let lifetime: Int64 = 3600
    /// The time limit for fetching both documents of a provider: the metadata and the keys.
    static let fetchTime: Duration = .seconds(4)

    struct Documents: Sendable {
        var metadata: ProviderMetadata
        var keys: KeySet
        var fetchedAt: Timestamp
    }

    private struct Entry: Sendable {
        var documents: Documents?
        var failure = ""
        var triedAt: Timestamp?
        var provider: UUID
        /// The time of the first failure since the last successful fetch; `nil` if there was none.
        var failingSince: Timestamp?
        var isFetching = false
        var waiting: [UnsafeContinuation<Void, Never>] = []
    }

    private let http: OutboundHTTP
    private let clock: @Sendable () -> Timestamp
    private let entries = Mutex<[String: Entry]>([:])
    /// The owners of the providers that are being examined.
    let examined = Mutex<Set<UUID?>>([])

    package init(http: OutboundHTTP, clock: @escaping @Sendable () -> Timestamp) {
        self.http = http
        self.clock = clock
    }

    /// Whether a request to this URL is allowed for the owner; see `OutboundHTTP.permits`.
    func permits(_ url: String, for owner: UUID?) async -> Bool {
        await http.permits(url, for: owner)
    }

    /// Verifies a token with the provider's keys.
    package func claims(
        of token: IDToken, from party: RelyingParty, nonce: String? = nil,
        isAccessToken: Bool = false
    ) async throws(FederationFault) -> IDClaims {
        let check = IDTokenCheck(
            party: party, now: clock(), nonce: nonce, isAccessToken: isAccessToken)
        return try await checked(party, token.keyID, token.algorithm) {
            keys throws(IDTokenFault) in try check.claims(of: token, keys: keys)
        }
    }

    /// The claims of a signed userinfo response, verified with the provider's keys.
    package func claims(
        of info: SignedUserInfo, from party: RelyingParty
    ) async throws(FederationFault) -> JSONValue {
        let now = clock()
        return try await checked(party, info.keyID, info.algorithm) {
            keys throws(IDTokenFault) in try info.claims(for: party, keys: keys, now: now)
        }
    }

    /// Verifies with the cached keys. If the signature is invalid, verifies again with newly
    /// fetched keys, since some providers replace a key under the same id. Fetches at most once a
    /// minute.
    private func checked<Result>(
        _ party: RelyingParty, _ keyID: String?, _ algorithm: VerificationKey.Algorithm,
        _ check: (KeySet) throws(IDTokenFault) -> Result
    ) async throws(FederationFault) -> Result {
        let first = try await documents(of: party) {
            !$0.keys.keys(id: keyID, algorithm: algorithm).isEmpty
        }
        do throws(IDTokenFault) {
            return try check(first.keys)
        } catch {
            guard error == .signatureInvalid else { throw .token(error) }
        }
        let seen = first.fetchedAt
        let second = try await documents(of: party) { $0.fetchedAt != seen }
        guard second.fetchedAt != seen else { throw .token(.signatureInvalid) }
        do throws(IDTokenFault) {
            return try check(second.keys)
        } catch {
            throw .token(error)
        }
    }

    package func metadata(
        of party: RelyingParty
    ) async throws(FederationFault) -> ProviderMetadata {
        try await documents(of: party) { _ in true }.metadata
    }

    /// The providers whose documents this process could not fetch at the last attempt. The value
    /// for each provider is the time of its first failure.
    package var unreachable: [UUID: Timestamp] {
        entries.withLock { entries in
            entries.values.reduce(into: [:]) { found, entry in
                if let since = entry.failingSince { found[entry.provider] = since }
            }
        }
    }

    private enum Step {
        case known(Documents)
        case failed(String)
        case wait, fetch
    }

    /// The provider's documents. Fetches them if `isEnough` rejects the cached documents. If the
    /// next fetch is not due yet, returns the cached documents nevertheless.
    private func documents(
        of party: RelyingParty, isEnough: @Sendable (Documents) -> Bool
    ) async throws(FederationFault) -> Documents {
        let key = Self.key(party)
        var hasWaited = false
        while true {
            switch step(key, of: party, hasWaited: hasWaited, isEnough) {
            case .known(let documents): return documents
            case .failed(let reason): throw .unavailable(reason)
            case .wait: await wait(key)
            case .fetch: finish(key, of: party, await fetch(party))
            }
            hasWaited = true
        }
    }

    private func step(
        _ key: String, of party: RelyingParty, hasWaited: Bool, _ isEnough: (Documents) -> Bool
    ) -> Step {
        let now = clock()
        return entries.withLock { entries in
            var entry = entries[key] ?? Entry(provider: party.provider)
            let age = entry.documents.map { Self.seconds(from: $0.fetchedAt, to: now) }
            let usable = age.map { $0 < Self.lifetime } ?? false ? entry.documents : nil
            if let usable, let age, hasWaited || age < Self.freshness && isEnough(usable) {
                return .known(usable)
            }
            if entry.isFetching { return .wait }
            let pause = usable == nil ? Self.intervalAfterFailure : Self.leastInterval
            let sinceTry = entry.triedAt.map { Self.seconds(from: $0, to: now) }
            if hasWaited || sinceTry.map({ $0 < pause }) ?? false {
                return usable.map { .known($0) } ?? .failed(entry.failure)
            }
            entry.isFetching = true
            entry.triedAt = now
            Self.makeRoom(in: &entries)
            entries[key] = entry
            return .fetch
        }
    }

    private func wait(_ key: String) async {
        await withUnsafeContinuation { continuation in
            let isOver = entries.withLock { entries in
                guard entries[key]?.isFetching ?? false else { return true }
                entries[key]?.waiting.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    private func finish(
        _ key: String, of party: RelyingParty, _ result: Result<Documents, FetchFailure>
    ) {
        let now = clock()
        let waiting = entries.withLock { entries in
            var entry = entries[key] ?? Entry(provider: party.provider)
            entry.provider = party.provider
            switch result {
            case .success(let documents):
                entry.documents = documents
                entry.failingSince = nil
            case .failure(let failure):
                entry.failure = failure.reason
                entry.failingSince = entry.failingSince ?? now
            }
            let waiting = entry.waiting
            entry.waiting = []
            entry.isFetching = false
            entries[key] = entry
            return waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// If the cache is full, evicts the entry whose last fetch began the longest time ago. An entry
    /// with a running fetch is never evicted.
    private static func makeRoom(in entries: inout [String: Entry]) {
        guard entries.count >= providerLimit else { return }
        let idle = entries.filter { !$0.value.isFetching }
        let oldest = idle.min {
            ($0.value.triedAt?.microseconds ?? 0) < ($1.value.triedAt?.microseconds ?? 0)
        }
        if let oldest { entries[oldest.key] = nil }
    }

    /// The number of seconds between two times. If the clock was set back, the result is so large
    /// that the entry counts as old; otherwise it would stay fresh for too long.
    private static func seconds(from start: Timestamp, to end: Timestamp) -> Int64 {
        let passed = (end.microseconds - start.microseconds) / 1_000_000
        return passed < 0 ? .max : passed
    }

    /// The cache key: everything that determines what is fetched. It includes the owner, so that
    /// failures of one owner's provider do not affect another owner's provider with the same
    /// issuer.
    private static func key(_ party: RelyingParty) -> String {
        let overrides = RelyingParty.Endpoint.allCases.map { party.endpoints[$0] ?? "" }
        return ([party.owner?.description ?? "", party.issuer] + overrides).joined(separator: "\n")
    }

    struct FetchFailure: Error { var reason: String }

    private func fetch(_ party: RelyingParty) async -> Result<Documents, FetchFailure> {
        let deadline = ContinuousClock.now + Self.fetchTime
        do throws(FetchFailure) {
            var metadata = ProviderMetadata(overrides: party.endpoints)
            if !Self.isComplete(metadata) {
                let bytes = try await get(party.discoveryURL, for: party, until: deadline)
                guard let found = ProviderMetadata(bytes, of: party) else {
                    throw FetchFailure(reason: "no discovery document of this issuer")
                }
                metadata = found
            }
            guard let url = metadata.endpoints[.keys] else {
                throw FetchFailure(reason: "no jwks_uri")
            }
            guard let keys = KeySet(try await get(url, for: party, until: deadline)) else {
                throw FetchFailure(reason: "no key set")
            }
            return .success(Documents(metadata: metadata, keys: keys, fetchedAt: clock()))
        } catch {
            return .failure(error)
        }
    }

    static func isComplete(_ metadata: ProviderMetadata) -> Bool {
        [.authorization, .token, .keys].allSatisfy { metadata.endpoints[$0] != nil }
    }

    func get(
        _ url: String, for party: RelyingParty, until deadline: ContinuousClock.Instant
    ) async throws(FetchFailure) -> [UInt8] {
        do throws(OutboundFailure) {
            let answer = try await http.send(
                OutboundRequest(.get, url, fields: [Field("accept", "application/json")]),
                for: party.owner, until: deadline)
            guard answer.status == 200 else { throw OutboundFailure.malformed }
            return answer.body
        } catch {
            throw FetchFailure(reason: "\(url): \(error.told)")
        }
    }
}

/// The endpoints of a provider. Those that the operator set replace the published ones.
package struct ProviderMetadata: Sendable {
    package let endpoints: [RelyingParty.Endpoint: String]
    /// Whether the authorization response must name its issuer (RFC 9207).
    package let namesIssuer: Bool
    /// Whether this server sends the client secret with `client_secret_basic`. If the provider
    /// offers only `client_secret_post`, this is false (OpenID Connect Core section 9).
    package let takesSecretInHeader: Bool

    /// Whether this server may use an address that the provider published: link to it, and send
    /// requests to it. It must be an https address; http is allowed only if the issuer is http too.
    /// Other URLs, such as `javascript:`, are never allowed.
    private static func isAddress(_ text: String, publishedBy issuer: String) -> Bool {
        guard RelyingParty.isAddress(text) else { return false }
        let secure = "https://".utf8
        return text.utf8.starts(with: secure) || !issuer.utf8.starts(with: secure)
    }

    /// The metadata of a provider without a discovery document: only the endpoints that the
    /// operator set.
    init(overrides: [RelyingParty.Endpoint: String]) {
        endpoints = overrides
        namesIssuer = false
        takesSecretInHeader = true
    }

    /// `nil` if the bytes are not a discovery document of the provider's issuer (OpenID Connect
    /// Discovery section 4.3).
    init?(_ bytes: [UInt8], of party: RelyingParty) {
        guard
            let document = (try? JSONValue(parsing: bytes, limits: JSONLimits(depth: 16)))?
                .withoutNulls, let issuer = document["issuer"]?.string,
            sameBytes(issuer, party.issuer)
        else { return nil }
        var found = party.endpoints
        for endpoint in RelyingParty.Endpoint.allCases where found[endpoint] == nil {
            if endpoint == .issuer || endpoint == .tokenCheck { continue }
            found[endpoint] = document[endpoint.rawValue]?.string.flatMap {
                Self.isAddress($0, publishedBy: party.issuer) ? $0 : nil
            }
        }
        endpoints = found
        namesIssuer = document["authorization_response_iss_parameter_supported"]?.bool ?? false
        let ways = document["token_endpoint_auth_methods_supported"]?.array?.compactMap(\.string)
        takesSecretInHeader =
            ways.map { ways in
                ways.contains { sameBytes($0, "client_secret_basic") }
                    || !ways.contains { sameBytes($0, "client_secret_post") }
            } ?? true
    }
}

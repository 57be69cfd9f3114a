import Foundation
import TestSupport
import Testing

/// Of no action is it forgotten to ask what a replica remembers after it.
struct AuditActionTests {
    /// Actions that take back nothing a replica remembers, and why.
    private static let harmless = [
        "api_key.created": "new", "user.created": "new", "tenant.created": "new",
        "cors_origin.created": "new", "domain.created": "a claim alone counts for nothing",
        "api_key.leaked": "tells, and leaves the key as it is",
        "user.activated": "gives", "user.approved": "gives", "user.resumed": "gives back",
        "user.restored": "gives back", "tenant.resumed": "gives back",
        "tenant.restored": "gives back", "domain.verified": "gives", "domain.found": "gives back",
        "domain.lost": "the domain counts on for its grace",
        "tenant.purge_begun": "of a deleted tenant, which withdrew everything",
        "tenant.purged": "of a deleted tenant, which withdrew everything",
        "tenant.updated": "a name", "user.approval_requested": "a person who was not let in yet",
        "user.removed": "a person who was not let in yet",
        "user.credentials_wiped": "a person who was not let in yet",
        "user.password_reset": "sessions are read from the database each time",
        "user.pin_set": "sessions are read from the database each time",
        "user.pin_removed": "sessions are read from the database each time",
        "user.email_changed": "keys and sessions are the user's, whatever the address",
        "user.email_change_asked": "nothing changes before it is confirmed",
        "user.email_change_ended": "nothing had changed before it was confirmed",
        "user.password_link_made": "gives a way to set a password, and takes none",
        "client.secret_changed": "what Gatehouse sends to a provider, and lets nobody in by itself",
        "user.read": "a permission in the words of an app, and no action",
    ]

    /// Actions whose withdrawal another test shows: its file and its name.
    private static let elsewhere = [
        "user.password_changed": (
            "EndToEndTests/SignedOutEverywhereTests.swift",
            "a new password ends every session but the one that set it, everywhere"
        ),
        "user.account_given": (
            "APITests/ResolveDecisionTests.swift",
            "give_account links who proved the address and ends every other way in"
        ),
        // Told to the replicas in the same words as `domain.deleted`; it takes a week to come.
        "domain.lapsed": (
            "APITests/DomainCheckTests.swift",
            "D5 a domain without its record lets nobody in after a week, and members stay"
        ),
    ]

    /// Made of a verb at run time in one place: no literal names them.
    private static let composed: Set = ["tenant.resumed", "tenant.restored"]

    /// Whose actions change what a replica may answer from its memory for.
    private static let remembered: Set = [
        "api_key", "user", "tenant", "cors_origin", "policy", "domain", "client",
    ]

    /// What is read from the database each time.
    private static let unremembered: Set = [
        "decisions", "hook_credential", "identity", "invite", "link_grant", "operator", "provider",
        "session", "sign_up",
    ]

    @Test func `of every noun that is audited it is decided whether a replica remembers it`() throws
    {
        let folder = TestCluster.root + "/Sources/Product"
        var found: Set<String> = []
        let names = FileManager.default.enumerator(atPath: folder)
        while let name = names?.nextObject() as? String {
            guard name.hasSuffix(".swift") else { continue }
            let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
            for match in text.matches(of: /(?:audit\(|action: )\s*"([a-z_]+)\./) {
                found.insert(String(match.output.1))
            }
        }
        #expect(found == Self.remembered.union(Self.unremembered))
    }

    @Test func `of every action it is decided whether it withdraws, and where that is shown`()
        throws
    {
        let folder = TestCluster.root + "/Sources/Product"
        var found: Set<String> = []
        var places: [String] = []
        let names = FileManager.default.enumerator(atPath: folder)
        while let name = names?.nextObject() as? String {
            guard name.hasSuffix(".swift") else { continue }
            let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
            for literal in text.components(separatedBy: "\"") {
                let parts = literal.components(separatedBy: ".")
                guard parts.count > 1, Self.remembered.contains(parts[0]) else { continue }
                if parts[1].hasPrefix("\\(") { places.append(name) }
                let isWord = parts[1].utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F }
                if parts.count == 2, isWord, !parts[1].isEmpty { found.insert(literal) }
            }
        }
        #expect(places == ["API/Tenants/TenantEndpoints.swift"], "who else composes an action?")
        let shown = InvalidatedCacheTests.actions
        let decided = shown.union(Self.harmless.keys).union(Self.elsewhere.keys)
        #expect(found.subtracting(decided).isEmpty, "undecided")
        #expect(decided.subtracting(found) == Self.composed, "no more there")
        #expect(shown.isDisjoint(with: Self.harmless.keys))
        for (file, name) in Self.elsewhere.values {
            let path = "\(TestCluster.root)/Tests/\(file)"
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.contains("`\(name)`"), "\(file)")
        }
    }
}

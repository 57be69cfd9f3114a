import Domain
import Foundation
import TestSupport
import Testing

/// Each audit action is decided: it invalidates what replicas cache, or it need not.
struct AuditActionTests {
    /// Actions that revoke nothing that a replica caches, and why.
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
        "user.declined": "a person who was not let in yet",
        "domain.updated": "each sign-up reads the domain from the database",
        "user.credentials_wiped": "a person who was not let in yet",
        "user.password_reset": "sessions are read from the database each time",
        "user.pin_set": "sessions are read from the database each time",
        "user.pin_removed": "sessions are read from the database each time",
        "user.email_changed": "keys and sessions are the user's, whatever the address",
        "user.email_change_asked": "nothing changes before it is confirmed",
        "user.email_change_ended": "nothing had changed before it was confirmed",
        "user.exported": "reads, and changes nothing",
        "user.inactivity_warned": "a mail, and nothing of the user",
        "user.password_link_made": "gives a way to set a password, and takes none",
        "client.secret_changed": "what Gatehouse sends to a provider, and lets nobody in by itself",
    ]

    /// Actions whose revocation another test shows: its file and its name.
    private static let elsewhere = [
        "user.password_changed": (
            "EndToEndTests/SignedOutEverywhereTests.swift",
            "a new password ends every session but the one that set it, everywhere"
        ),
        "user.account_given": (
            "APITests/Provisioning/ResolveDecisionTests.swift",
            "give_account links the person who proved the address and ends the other ways in"
        ),
        "user.merged": (
            "APITests/Merges/MergedUserTests.swift",
            "scopes lost by a moved key are lost on every replica and return after the undo"
        ),
        "user.merge_undone": (
            "APITests/Merges/MergedUserTests.swift",
            "scopes lost by a moved key are lost on every replica and return after the undo"
        ),
        // The replicas get the same notice as for `domain.deleted`; it takes a week to come.
        "domain.lapsed": (
            "APITests/Domains/DomainCheckTests.swift",
            "D5 a domain without its record admits no new user after a week, and members stay"
        ),
    ]

    /// Nouns whose actions change what a replica may answer from its cache.
    private static let cached: Set = [
        "api_key", "user", "tenant", "cors_origin", "policy", "domain", "client",
    ]

    /// What is read from the database each time.
    private static let uncached: Set = [
        "attribute_schema", "decisions", "hook_credential", "identity", "invite", "job",
        "join_link", "link_grant", "operator", "operator_sign_in", "provider",
        "session", "sign_up",
    ]

    @Test func `every audited noun is listed as cached by replicas or not`() {
        let nouns = Set(AuditAction.allCases.map(Self.noun))
        #expect(nouns == Self.cached.union(Self.uncached))
    }

    @Test func `every audit action is listed as harmless or as a shown revocation`() throws {
        let found = Set(
            AuditAction.allCases.filter { Self.cached.contains(Self.noun($0)) }.map(\.rawValue))
        let shown = InvalidatedCacheTests.actions
        let decided = shown.union(Self.harmless.keys).union(Self.elsewhere.keys)
        #expect(decided == found)
        #expect(shown.isDisjoint(with: Self.harmless.keys))
        for (file, name) in Self.elsewhere.values {
            let path = "\(TestCluster.root)/Tests/\(file)"
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.contains("`\(name)`"), "\(file)")
        }
    }

    private static func noun(_ action: AuditAction) -> String {
        String(action.rawValue.prefix { $0 != "." })
    }
}

import API
import Cryptography
import Domain
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Acts that make a credential, move trust or end something wide need a recent proof that the
/// console's operator is present: over the whole table, each request sent for real.
@Suite(.serialized, .cleansUp) struct RecentActsTests {
    /// What makes a call of the endpoint such an act, where an empty body does not.
    private static func body(_ id: String, _ fixture: RightsFixture) -> String? {
        let user = fixture.people[.member]?.description ?? ""
        let ids = (0..<101).map { _ in "\"\(UUID.random())\"" }.joined(separator: ",")
        return switch id {
        case "createApiKey", "createPlatformApiKey": #"{"name":"k","scopes":[]}"#
        case "updateApiKey", "updatePlatformApiKey": #"{"scopes":["users:read","users:write"]}"#
        case "askForEmailChange": #"{"email":"other@acme.example"}"#
        case "createUser": #"{"email":"second@acme.example","role":"admin"}"#
        case "createInvite":
            #"{"invites":[{"email":"third@acme.example","role":"admin","delivery":"link"}]}"#
        case "updateUser", "updateInvite": #"{"role":"admin"}"#
        case "revokeApiKeys": #"{"reason":"leaked"}"#
        case "createOperator": #"{"email":"new@a.example","role":"admin","delivery":"link"}"#
        case "updateOperator": #"{"name":"Other"}"#
        case "setOwnPassword": #"{"password":"another long password"}"#
        case "confirmTotp": #"{"code":"123456"}"#
        case "addPasskey":
            #"{"name":"k","passkey":{"id":"AQ","type":"public-key","response":{"clientDataJSON":"e30","attestationObject":"oA"}}}"#
        case "updateDomain": #"{"mode":"ask"}"#
        case "putOperatorSignIn":
            #"{"provider":"\#(UUID.random())","domains":["a.example"]}"#
        case "createProvider": #"{"kind":"google","name":"H","client_id":"other"}"#
        case "updateProvider": #"{"name":"Other"}"#
        case "verifyDomain": #"{"method":"operator"}"#
        case "linkIdentity":
            #"{"provider":"google","issuer":"https://accounts.google.com","subject":"2"}"#
        case "resolveDecision": #"{"action":"give_account"}"#
        case "mergeUsers": #"{"winner":"\#(user)","loser":"\#(UUID.random())"}"#
        case "actOnUsers": #"{"action":"suspend","ids":[\#(ids)]}"#
        case "actOnInvites": #"{"action":"revoke","ids":[\#(ids)]}"#
        case "actOnApiKeys": #"{"action":"revoke","ids":[\#(ids)]}"#
        case "actOnPeople":
            #"{"action":"erase","reason":"asked","users":[{"tenant":"acme","id":"\#(user)"}]}"#
        case "deleteOperatorSignIn", "unbindOperator", "deleteOperator", "deleteProvider",
            "deleteDomain", "deleteUser", "deleteTenant",
            "listUsers",
            "suspendTenant",
            "removeTotp", "removePasskey":
            nil
        default: "{}"
        }
    }

    private static func send(
        _ id: String, _ fixture: RightsFixture, as who: TestService.Credential
    ) async throws -> TestAnswer {
        let endpoint = try #require(Routes.all.first { $0.id == id }, "\(id) is no endpoint")
        var path = fixture.target(endpoint).path
        var fields: [Field] = []
        var text = body(id, fixture)
        switch id {
        case "deleteUser": path += "?purge=true"
        case "listUsers": fields.append(Field("accept", "text/csv"))
        case "putPolicy": fields.append(Field("if-match", "*"))
        case "createImport":
            path = path.split(separator: "?")[0] + "?format=ndjson"
            text = #"{"email":"ann@x.example"}"#
            fields.append(Field("content-type", "application/x-ndjson"))
        default: break
        }
        return try await fixture.base.service.send(
            endpoint.method, path, json: text, as: who, fields: fields)
    }

    /// A new session of the operator whose session `TestService` keeps.
    private static func freshSession(_ service: TestService) async throws -> String {
        let person = try #require(
            try await service.storage.operatorsWithPassword(
                emailKey: "owner-platform@operators.example"
            ).first?.0)
        let token = TokenSecret.make()
        try await service.storage.startOperatorSession(
            person, tokenHash: TokenSecret.hash(token) ?? [], userAgent: nil, method: .password,
            by: .system)
        return token
    }

    /// The tenant's end comes last.
    private static let order = RecentActs.all.keys.sorted {
        (rank($0), $0) < (rank($1), $1)
    }

    private static func rank(_ id: String) -> Int {
        ["suspendTenant", "deleteTenant"].firstIndex(of: id) ?? -1
    }

    @Test func `each act is refused to an old session, and to no other and no key`() async throws {
        let clock = TestClock()
        let fixture = try await RightsFixture.make(try await UserFixture.make(clock: clock))
        let service = fixture.base.service
        let key = try await fixture.key(RightsFixture.every, at: "/v1/api-keys")
        clock.advance(seconds: 600)
        for id in Self.order {
            let old = try await Self.send(id, fixture, as: .platformOwner)
            #expect(old.status == 403, "\(id): \(old.text)")
            #expect(old.json["code"]?.string == "step_up_required", "\(id): \(old.text)")
            #expect(old.json["max_age"] == .int(600), "\(id): \(old.text)")
            #expect(old.json["methods"] == .array([]), "\(id): \(old.text)")
        }
        let fresh = try await Self.freshSession(service)
        for id in Self.order where id != "deleteTenant" {
            let answer = try await Self.send(id, fixture, as: .session(fresh))
            #expect(answer.json["code"]?.string != "step_up_required", "\(id): \(answer.text)")
            #expect(answer.status < 500, "\(id): \(answer.text)")
            #expect(answer.status != 422 || id == "confirmTotp", "\(id): \(answer.text)")
        }
        for id in Self.order where id != "deleteTenant" {
            let answer = try await Self.send(id, fixture, as: .bearer(key))
            #expect(answer.json["code"]?.string != "step_up_required", "\(id): \(answer.text)")
        }
        let gone = try await Self.send("deleteTenant", fixture, as: .session(fresh))
        #expect(gone.status == 204, "\(gone.text)")
    }

    /// Every other write of a caller with a credential, by why it is no such act. A new endpoint
    /// has to be put here or into the table.
    private static let others: [String: Set<String>] = [
        "asks or shows only": [
            "verifyApiKey", "verifyApiKeys", "identifyApiKey", "introspect", "evaluateCors",
            "evaluateProvisioning", "searchPeople", "testProvider", "preSignup",
            "preSignupCognito", "postConfirmationCognito", "invokeFunction", "reportBounce",
        ],
        "ends one thing, or narrows": [
            "revokeApiKey", "revokePlatformApiKey", "cutApiKey",
            "cutPlatformApiKey", "deleteHookCredential", "revokeInvite", "revokeJoinLink",
            "unlinkIdentity", "endUserSession", "endUserSessions", "suspendUser", "declineUser",
            "cancelEmailChange", "deleteCorsOrigin", "deletePlatformCorsOrigin",
            "pauseJob", "pausePlatformJob", "cancelJob", "cancelPlatformJob",
            "deleteAttributeSchema",
        ],
        "is ordinary work, and is undone as easily": [
            "createTenant", "updateTenant", "putLogo", "deleteLogo", "resumeTenant",
            "restoreTenant",
            "resumeUser", "restoreUser", "approveUser",
            "resendInvite", "createDomain",
            "createCorsOrigin", "createPlatformCorsOrigin", "replaceCorsOrigins",
            "putAttributeSchema", "resumeJob", "resumePlatformJob",
            "renamePasskey",
        ],
        "is the operator's own, and ends or names only": [
            "signOut", "stepUp", "updateMe", "endOwnSession", "endOwnSessions",
        ],
    ]

    @Test func `every write is in the table of acts, or named with why it is none`() {
        let writes = Routes.all.filter { $0.method != .get && $0.access != .open }.map(\.id)
        let named = Self.others.values.reduce(into: Set<String>()) { $0.formUnion($1) }
        let acts = Set(RecentActs.all.keys)
        #expect(Set(writes).subtracting(acts).subtracting(named).sorted() == [])
        #expect(named.subtracting(writes).sorted() == [], "no longer a write")
        #expect(named.intersection(acts).sorted() == [])
        #expect(acts.subtracting(Routes.all.map(\.id)).sorted() == [], "no longer an endpoint")
    }
}

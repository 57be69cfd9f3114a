import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// `POST /v1/session/link`: a new sign-in for who came by a link and set nothing up in time.
enum OwnLinkEndpoint {
    static let mail = Endpoint(
        .post, "/v1/session/link", id: "mailOwnLink", tag: "Session",
        summary:
            "Mails the session's operator a new one-time link, to their own address. It is for who has "
            + "neither a password nor a second factor nor a provider: after a sign-in by it, one is set up. "
            + "Links that were made before and not used end.",
        access: .console,
        answers: [
            Answer(202, .object(ObjectShape("OwnLink", [.readOnly("expires_at", .timestamp)])))
        ], problems: [.conflict, .rateLimited]
    ) { call in
        let person = try await call.operator
        guard !person.factors.canReturn, !person.factors.hasSecondFactor else {
            throw Problem(
                .conflict, "Your account has what it signs in with; a link is for who has nothing.")
        }
        guard call.services.sendsMail else {
            throw Problem(
                .conflict,
                "This server sends no mail. Its administrator gives you a way back by `gatehouse operator reset`."
            )
        }
        let (token, database) = (TokenSecret.make(), try call.services.database)
        guard let hash = TokenSecret.hash(token) else { throw Problem.internalError }
        let seconds = OperatorEndpoints.linkSeconds
        let link = "\(call.services.publicURL)/console/sign-in#token=\(token)"
        try await database.scope(person.tenant ?? .platform).change(by: call.actor) { change in
            try await change.requireProof(of: person)
            try await change.endSignInLinks(of: person.id)
            try await change.addOperatorLink(hash, for: person.id, seconds: seconds, isMailed: true)
            try await OperatorLinkEndpoint.mail(
                .operatorLink, to: person, link, seconds, change, database)
            try await change.audit(.operatorLinkMade, person.target)
        }
        let body = JSONValue.object([
            .init("expires_at", .time(call.now.adding(seconds: seconds)))
        ])
        return Response.json(202, bytes: body.encoded())
    }
}

import Cryptography
import Domain
import HTTP
import JSON
import Storage

/// `POST /v1/session/not-me`: the button behind "this was not me" in a mail about an operator's
/// account. Opening the link does nothing: mail systems open links by themselves.
enum NotMeEndpoint {
    static let disown = Endpoint(
        .post, "/v1/session/not-me", id: "disownSessions", tag: "Session",
        summary: "By the token of a mail about an operator's account: ends every session and the "
            + "password, and mails a link to a new one.",
        access: .open,
        body: .json(ObjectShape("NotMe", [.required("token", .string(min: 1, max: 128))])),
        answers: [
            .ok(
                ObjectShape(
                    "NotMeDone",
                    [
                        .readOnly(
                            "reset_mailed", .bool,
                            "Whether there was a password, and a link to a new one is on its way.")
                    ]))
        ], problems: [.notFound, .rateLimited], secret: true, maxBody: 1 << 14
    ) { call in
        try await LinkMisses.check(call)
        let hash = TokenSecret.hash(try call.input.string("token")) ?? []
        let done = try await call.services.database.disown(
            tokenHash: hash, publicURL: call.services.publicURL, requestID: call.request.id,
            ip: call.request.remoteAddress)
        guard let done else {
            try await LinkMisses.count(call)
            throw Problem(.notFound, "The link is used up or over.")
        }
        var answer = Response.ok(.object([.init("reset_mailed", .bool(done.needsPassword))]))
        answer.fields.append(Field("cache-control", "no-store"))
        return answer
    }
}

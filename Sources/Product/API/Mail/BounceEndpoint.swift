import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/mail/bounces`: receives messages that were sent to the return addresses of this server's
/// mails. The mail server passes each of these messages to a command, which calls this endpoint.
package enum BounceEndpoint {
    package static let all: [Endpoint] = [report]

    /// The maximum size of a message in bytes. The mail server's command may cut a longer message,
    /// since a bounce report comes before the mail that it quotes.
    static let messageLimit = 256 << 10

    private static let shape = ObjectShape(
        "Bounce",
        [
            .readOnly(
                "result", .enumeration(of: BounceResult.self),
                "What was done with the message. `bounced`, `delayed`: the invite now shows that "
                    + "its mail bounced or is delayed. `outdated`: nothing, because the invite has "
                    + "been mailed again, has ended, or already shows a bounce. `unknown`: "
                    + "nothing, because no stored mail has this return address. `ignored`: "
                    + "nothing, because the message is not an RFC 3464 report of a failure or a "
                    + "delay.")
        ])

    private static let report = Endpoint(
        .post, "/v1/mail/bounces", id: "reportBounce", tag: "Invites",
        summary:
            "Receives a message that was sent to the return address of an invite's mail. If the "
            + "message reports a failure or a delay, the invite shows this, unless `result` is "
            + "`outdated` or `unknown`.",
        access: .platform(.reportBounces),
        body: .raw(["message/rfc822", .bytes]), answers: [.ok(shape)],
        maxBody: messageLimit
    ) { call in
        let message = MessagePart(call.request.body[...])
        let result = try await take(message, to: try recipient(of: message), call)
        call.application.metrics.record(result)
        return .ok(.object([.init("result", .string(result.rawValue))]))
    }

    /// The token in the return address that the message was delivered to. The address is read from
    /// the first field that the mail server added. The recipients that the report itself states are
    /// not trusted, since the sender wrote them.
    private static func recipient(of message: MessagePart) throws -> String {
        guard let address = message.first("x-original-to") ?? message.first("delivered-to") else {
            throw Problem.invalid([
                FieldError(
                    "", .required,
                    "must have the header X-Original-To or Delivered-To: the address that the "
                        + "message was delivered to")
            ])
        }
        guard let token = ReturnToken.token(of: address) else {
            throw Problem.invalid([
                FieldError("", .invalid, "was delivered to an address that is not a return address")
            ])
        }
        return token
    }

    private static func take(
        _ message: MessagePart, to token: String, _ call: Call
    ) async throws -> BounceResult {
        guard let tenant = try await call.database.tenant(ofReturnToken: token) else {
            return .unknown
        }
        let report = DeliveryReport(message)
        return try await call.database.scope(tenant).change(by: call.actor) {
            try await $0.take(report, to: token)
        }
    }
}

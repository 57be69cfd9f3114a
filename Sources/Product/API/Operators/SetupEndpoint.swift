import Cryptography
import Domain
import HTTP
import Storage
import Text

/// `/v1/setup`: creates the first owner, by the token that the server logged. Closed ever after.
enum SetupEndpoint {
    static let all: [Endpoint] = [setUp]

    private static let setUp = Endpoint(
        .post, "/v1/setup", id: "setUp", tag: "Session",
        summary: "Makes the first owner and signs in; 404 once there is one.", access: .open,
        body: .json(
            ObjectShape(
                "SetUp",
                [
                    .required("token", .string(min: 1, max: 128)),
                    .required("name", .string(min: 1, max: 200, rule: .displayName)),
                    .required("email", .email),
                    .required("password", .string(min: 15, max: 1024)),
                ])),
        answers: [.created(OperatorRow.shape)], problems: [.notFound, .unauthorized, .rateLimited]
    ) { call in
        let database = try call.services.database
        let address = try call.input.emailAddress("email")
        // A malformed token is answered like a wrong one.
        let hash = TokenSecret.hash(try call.input.string("token")) ?? []
        switch try await database.setupState(tokenHash: hash) {
        case .closed: throw Problem.notFound("set-up: this service has an owner")
        case .wrongToken: throw Problem.unauthorized("The set-up token does not fit.")
        case .open: break
        }
        let name = try call.input.string("name")
        let actor = Actor(
            type: "operator", id: "", name: name, requestID: call.request.id,
            ip: call.request.remoteAddress)
        guard
            let row = try await database.completeSetup(
                tokenHash: hash, email: address.original, emailKey: address.key, name: name,
                passwordHash: try await NewPassword(
                    text: call.input.string("password"), about: [address.original, name]
                ).hashed(call), by: actor)
        else { throw Problem.notFound("set-up: this service has an owner") }
        return try await ConsoleSession.begin(
            row, by: .password, call,
            answering: .created(row, at: "/v1/operators/\(row.id)", etag: row.etag))
    }
}

import API
import Cryptography
import Federation
import HTTP
import JSON
import Outbound
import Storage
import Text

extension RemoteProvider {
    /// Of an account, beside the primary one: each may be the one that was invited.
    private static let addressLimit = 20

    /// The person of a GitHub token that we redeemed, or that was proved to be ours.
    func gitHubPerson(_ token: String) async throws -> ProvedPerson {
        let url = try await endpoint(.userInfo)
        let user = try await ask(.get, url, bearer: token)
        guard let id = user["id"]?.int, id > 0 else {
            throw SignInRefusal.notProved("no GitHub user")
        }
        var person = ProvedPerson(provider: row, subject: "\(id)", audience: clientID)
        person.name = user["name"]?.string ?? user["login"]?.string
        do {
            let emails = try await ask(.get, url + "/emails", bearer: token)
            let primary = emails.array?.first { $0["primary"]?.bool == true }
            person.email = primary?["email"]?.string
            person.emailVerified = primary?["verified"]?.bool
            person.otherEmails = (emails.array ?? []).filter {
                $0["verified"]?.bool == true && $0["primary"]?.bool != true
            }.prefix(Self.addressLimit).compactMap { $0["email"]?.string }
        } catch let refusal as SignInRefusal {
            // The person is proved: without an address the rules decide.
            person.addressFault = refusal.reason
        }
        return person
    }

    /// Requires that a token from an app was issued to our client, as GitHub confirms; any other
    /// app's token would let that app's owner sign in as its users. Returns the time of issue,
    /// which the token itself lacks.
    func requireOurs(_ token: String) async throws -> TokenTime {
        guard let secret else { throw SignInRefusal.noProvider }
        let url = try await endpoint(.tokenCheck)
        let body = JSONValue.object([.init("access_token", .string(token))])
        let answer = try await send(
            OutboundRequest(
                .post, url,
                fields: [Field("content-type", "application/json"), basic(clientID, secret)],
                body: body.encoded()))
        guard answer["error"] == nil, answer["user"]?["id"]?.int != nil else {
            throw SignInRefusal.notProved("the GitHub token is not ours")
        }
        guard let made = answer["created_at"]?.string.flatMap({ Timestamp($0) }) else {
            return .unknown
        }
        return .at(made.microseconds / 1_000_000)
    }
}

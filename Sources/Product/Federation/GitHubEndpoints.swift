import Text

extension RelyingParty {
    private static let gitHubIssuer = "https://github.com"

    /// GitHub publishes no discovery document. Those of github.com are built in; a GitHub Enterprise
    /// Server's follow from its issuer, and the check of tokens from the API's address. What the
    /// operator set comes first, and where that names another host than github.com, nothing of
    /// github.com is used beside it: no secret and no token goes to a host that was not named.
    package var gitHubEndpoints: [Endpoint: String] {
        var found = endpoints
        let base = issuer.utf8.last == UInt8(ascii: "/") ? String(issuer.dropLast()) : issuer
        if !sameBytes(base, Self.gitHubIssuer) || !namesAnotherHost {
            for (endpoint, path) in [
                (Endpoint.authorization, "/login/oauth/authorize"),
                (.token, "/login/oauth/access_token"), (.deviceAuthorization, "/login/device/code"),
            ] where found[endpoint] == nil { found[endpoint] = base + path }
            if found[.userInfo] == nil { found[.userInfo] = Self.gitHubUser(base) }
        }
        let user = Array("/user".utf8)
        if found[.tokenCheck] == nil, let clientID, let api = found[.userInfo],
            api.utf8.suffix(user.count).elementsEqual(user)
        {
            let id = PercentEncoding.encode(clientID.utf8)
            found[.tokenCheck] = "\(api.dropLast(user.count))/applications/\(id)/token"
        }
        return found
    }

    /// What a GitHub's sign-ins need and neither follows nor is set: the endpoints that get the
    /// client's secret or a token.
    package var missingGitHubEndpoints: [Endpoint] {
        let found = gitHubEndpoints
        return [.token, .userInfo, .tokenCheck].filter { found[$0] == nil }
    }

    /// nil for GHE.com, whose API has a host of its own.
    private static func gitHubUser(_ base: String) -> String? {
        if sameBytes(base, gitHubIssuer) { return "https://api.github.com/user" }
        return base.utf8.suffix(8).elementsEqual(".ghe.com".utf8) ? nil : base + "/api/v3/user"
    }

    private var namesAnotherHost: Bool {
        endpoints.values.contains { url in
            !["https://github.com/", "https://api.github.com/"].contains {
                url.utf8.starts(with: $0.utf8)
            }
        }
    }
}

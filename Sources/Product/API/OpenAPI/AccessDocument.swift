import Domain
import JSON

/// An endpoint's access requirement in the documentation, by the scopes of keys.
extension Access {
    var sentence: String? {
        switch self {
        case .open: nil
        case .principal: "Any valid credential."
        case .console: "The console's session."
        case .right(let right): "Needs \(Self.scope(right))."
        case .own(let right): "Needs \(Self.scope(right)), be it over own things alone."
        case .anyOf(let rights):
            "Needs " + Self.distinct(rights.map(Self.scope)).joined(separator: " or ")
                + ", as the request asks."
        case .platform(let right):
            "Needs \(Self.scope(right)) with a credential of the platform."
        }
    }

    /// OpenAPI's security requirements: a key with the scope, or the console's session.
    var requirements: [JSONValue] {
        let alternatives: [[String]]
        switch self {
        case .open: return []
        case .principal: alternatives = [[]]
        case .console: alternatives = []
        case .right(let right), .own(let right), .platform(let right):
            alternatives = [Self.scopes(right)]
        case .anyOf(let rights): alternatives = rights.map(Self.scopes)
        }
        return Self.distinct(alternatives).map { names in
            .object([.init("key", .array(names.map { .string($0) }))])
        } + [.object([.init("session", .array([]))])]
    }

    private static func scopes(_ right: Right) -> [String] {
        right.scope.map { [$0.rawValue] } ?? []
    }

    private static func scope(_ right: Right) -> String {
        scopes(right).first.map { "the scope `\($0)`" } ?? "a person: no key may"
    }

    private static func distinct<Item: Equatable>(_ items: [Item]) -> [Item] {
        items.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

extension ManagementScope {
    /// A description of what it permits.
    var summary: String {
        isAdminEquivalent ? "\(what) Leads to the rights of an admin." : what
    }

    private var what: String {
        let parts = rawValue.split(separator: ":")
        guard parts.count == 2, let verb = Self.verbs[String(parts[1])] else { return "" }
        switch self {
        case .hooksSignup: return "Ask the sign-up hooks."
        case .keysVerify: return "Verify and introspect keys."
        case .mailBounces: return "Hand in mail that came back, with a key of the platform."
        default:
            return "\(verb) \(Self.nouns[String(parts[0])] ?? String(parts[0]))."
        }
    }

    private static let verbs = [
        "read": "Read", "write": "Make and change", "signup": "Ask", "verify": "Verify",
        "bounces": "Hand in",
    ]
    private static let nouns = [
        "api-keys": "API keys", "cors": "browser origins", "policy": "the policy and domains",
        "users": "users, with their identities, sessions and decisions",
        "audit": "the audit", "providers": "identity providers",
        "clients": "the settings of apps",
    ]

    /// All of them as lines of Markdown.
    static let list = allCases.map { "- `\($0.rawValue)`: \($0.summary)" }
        .joined(separator: "\n")
}

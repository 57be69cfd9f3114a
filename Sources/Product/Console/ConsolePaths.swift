/// The addresses below `/console/` that have a page, as `Public/app/router.js` and
/// `Public/lib/core/navigation.js` know them; a test compares the two.
enum ConsolePaths {
    private static let pages: Set<String> = [
        "setup", "sign-in", "tenants", "people", "simulator", "audit", "operators", "providers",
        "me", "keys", "origins", "decisions",
    ]
    /// Of the platform's own: those with a page for each thing.
    private static let things: Set<String> = ["keys", "origins", "decisions"]
    /// Below a tenant.
    static let sections: Set<String> = [
        "users", "requests", "invites", "policy", "domains", "keys", "origins", "clients",
        "decisions", "jobs", "audit", "settings",
    ]
    /// Of them, those with a page for each thing.
    private static let sectionsOfThings: Set<String> = ["users", "keys", "jobs"]

    /// `path`: begins with `/console/`; one slash at its end changes nothing.
    static func has(_ path: String) -> Bool {
        var parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(2)
        if parts.last?.isEmpty == true { parts.removeLast() }
        let names = parts.map(String.init)
        guard names.allSatisfy({ !$0.isEmpty }) else { return false }
        switch names.count {
        case 0: return true
        case 1: return pages.contains(names[0])
        case 2 where names[0] != "t": return things.contains(names[0])
        default: return names[0] == "t" && isOfTenant(Array(names.dropFirst(2)))
        }
    }

    private static func isOfTenant(_ names: [String]) -> Bool {
        guard let section = names.first else { return true }
        switch names.count {
        case 1: return sections.contains(section)
        case 2:
            return sectionsOfThings.contains(section)
                || section == "invites" && names[1] == "join-links"
        default: return false
        }
    }
}

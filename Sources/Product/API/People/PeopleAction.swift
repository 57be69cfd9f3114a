import Domain

/// What can be done with the users whom a search found.
enum PeopleAction: String, CaseIterable {
    case export
    case endSessions = "end_sessions"
    case suspend, erase

    var right: Right {
        switch self {
        case .export: .exportPeople
        case .endSessions: .endSessions
        case .suspend: .suspendUsers
        case .erase: .erasePeople
        }
    }
}

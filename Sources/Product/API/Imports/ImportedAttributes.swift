import JSON
import Storage
import Text

extension ImportedRow {
    /// Adds members whose names attributes may have, and says which were left out.
    mutating func take(
        _ members: [JSONValue.Member],
        to place: WritableKeyPath<ImportedRow, [JSONValue.Member]>
    ) {
        let (kept, left) = members.asAttributes()
        // A row may have very many members: each is looked for among the others once.
        var names = Set(self[keyPath: place].map { Array($0.name.utf8) })
        for member in kept where names.insert(Array(member.name.utf8)).inserted {
            self[keyPath: place].append(member)
        }
        if !left.isEmpty {
            notes.append("\(left.count) attributes have names that are not valid here.")
        }
    }

    /// What people wrote about themselves at the former system, below one private member: no app may
    /// take it for the operators' word.
    mutating func takeUserWritten(_ members: [JSONValue.Member]) {
        guard !members.isEmpty else { return }
        let whole = JSONValue.Member(Self.userWritten, .object(members))
        if Attributes.faults(inChange: [whole]).isEmpty {
            take([whole], to: \.privateAttributes)
        } else {
            notes.append("What the user wrote (\(Self.userWritten)) cannot be an attribute here.")
        }
    }

    private static let userWritten = "user_metadata"
}

extension [JSONValue.Member] {
    /// Those whose names attributes may have, and the names of the others.
    func asAttributes() -> (kept: [JSONValue.Member], left: [String]) {
        var (kept, left): ([JSONValue.Member], [String]) = ([], [])
        for member in self {
            if Attributes.isName(member.name) {
                if !member.value.isNull { kept.append(member) }
            } else {
                left.append(member.name)
            }
        }
        return (kept, left)
    }
}

import JSON
import Text

/// What a tenant says of its users' attributes, by their names; a name without a rule is free.
package struct AttributeSchema: Sendable, Equatable {
    package struct Entry: Sendable, Equatable {
        package var name: String
        package var rule: AttributeRule

        package init(_ name: String, _ rule: AttributeRule) {
            self.name = name
            self.rule = rule
        }
    }

    /// In the order that they were given.
    package var entries: [Entry] = []

    package init(_ entries: [Entry] = []) { self.entries = entries }

    /// Names with a rule.
    package static let countLimit = 64
    /// Names that are indexed.
    package static let indexedLimit = 5
    /// Bytes of what a token carries, as one JSON object.
    package static let tokenLimit = 1024

    package subscript(name: String) -> AttributeRule? {
        entries.first { sameBytes($0.name, name) }?.rule
    }

    var indexed: [Entry] { entries.filter(\.rule.isIndexed) }

    /// Whether another schema indexes the same values.
    func hasIndex(of other: AttributeSchema) -> Bool {
        Set(indexed.map(\.mark)) == Set(other.indexed.map(\.mark))
    }

    /// What a write would break. Values that it leaves as they are count for nothing, so that a row
    /// of before the schema can be edited; `isNew`: it has to have what is required.
    func faults(
        _ new: AttributePair, after old: AttributePair, isNew: Bool
    ) -> [AttributeFault] {
        if entries.isEmpty { return [] }
        var faults: [AttributeFault] = []
        for place in AttributeRule.Audience.allCases {
            let (before, after) = (old[place].members, new[place].members)
            for member in after where !before.contains(member) {
                guard let rule = self[member.name] else { continue }
                let fault =
                    rule.audience == place
                    ? rule.fault(member.name, member.value)
                    : AttributeFault(
                        member.name, .notAllowed, "belongs to \(rule.audience.object)")
                if let fault { faults.append(fault.of(place.object)) }
            }
            for entry in entries where entry.rule.isRequired && entry.rule.audience == place {
                func has(_ members: [JSONValue.Member]) -> Bool {
                    members.contains { sameBytes($0.name, entry.name) }
                }
                guard !has(after), isNew || has(before) else { continue }
                faults.append(
                    AttributeFault(entry.name, .required, "is required").of(place.object))
            }
        }
        let carried = JSONValue.object(tokenMembers(new.public)).encoded().count
        if faults.isEmpty, carried > Self.tokenLimit, new.public != old.public {
            faults.append(
                AttributeFault(
                    nil, .tooLong,
                    "must have at most \(Self.tokenLimit) bytes of what tokens carry"
                ).of("public_attributes"))
        }
        return faults
    }

    /// What an access token carries, in the schema's order, as far as it fits.
    package func inToken(_ attributes: Attributes) -> [JSONValue.Member] {
        var carried: [JSONValue.Member] = []
        for member in tokenMembers(attributes) {
            guard JSONValue.object(carried + [member]).encoded().count <= Self.tokenLimit else {
                continue
            }
            carried.append(member)
        }
        return carried
    }

    private func tokenMembers(_ attributes: Attributes) -> [JSONValue.Member] {
        let wanted = entries.filter { $0.rule.isInToken && $0.rule.audience == .public }
        if wanted.isEmpty { return [] }
        let all = attributes.members
        return wanted.compactMap { entry in all.first { sameBytes($0.name, entry.name) } }
    }

    /// The names and the words of what is indexed of these.
    func indexedWords(of pair: AttributePair) -> [(name: String, word: String)] {
        indexed.compactMap { entry in
            guard let word = pair[entry.rule.audience][entry.name]?.indexedWord,
                word.utf8.count <= AttributeRule.indexedLimit
            else { return nil }
            return (entry.name, word)
        }
    }
}

extension AttributeSchema.Entry {
    var mark: String { rule.audience.rawValue + " " + name }
}

extension AttributePair {
    subscript(place: AttributeRule.Audience) -> Attributes {
        place == .public ? `public` : `private`
    }
}

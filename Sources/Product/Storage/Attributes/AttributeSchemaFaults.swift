import JSON

extension AttributeSchema {
    /// Rules that contradict themselves or are too many.
    package func faults() -> [AttributeFault] {
        var faults: [AttributeFault] = []
        if entries.count > Self.countLimit {
            faults.append(
                AttributeFault(nil, .tooLong, "must have at most \(Self.countLimit) names"))
        }
        if indexed.count > Self.indexedLimit {
            faults.append(
                AttributeFault(nil, .tooLong, "must have at most \(Self.indexedLimit) indexed"))
        }
        for entry in entries {
            let rule = entry.rule
            if rule.isInToken, rule.audience == .private {
                faults.append(
                    AttributeFault(entry.name, .notAllowed, "is private, so no token carries it"))
            }
            if rule.isIndexed, rule.type == .array || rule.type == .object {
                faults.append(
                    AttributeFault(
                        entry.name, .notAllowed, "is a list or an object, which is not indexed"))
            }
            if let values = rule.values {
                if values.isEmpty {
                    faults.append(AttributeFault(entry.name, .invalid, "has no value to choose"))
                }
                if JSONValue.array(values).encoded().count > Self.enumLimit {
                    faults.append(
                        AttributeFault(
                            entry.name, .tooLong, "has more than \(Self.enumLimit) bytes of values")
                    )
                }
            }
        }
        return faults
    }

    /// Bytes of the values of one rule.
    static let enumLimit = 4096
}

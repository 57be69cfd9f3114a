/// Reads settings from the environment by name, and collects faults until the end.
struct SettingsReader {
    private static let prefix = "GATEHOUSE_"
    private static let fileSuffix = "_FILE"

    private let environment: [String: String]
    private let readFile: (String) -> [UInt8]?
    private var known: Set<String> = []
    private var set: Set<String> = []
    private var faults: [SettingFault] = []

    init(environment: [String: String], readFile: @escaping (String) -> [UInt8]?) {
        self.environment = environment
        self.readFile = readFile
    }

    /// The value; nil if it is absent or empty, or could not be read (then a fault is noted).
    mutating func bytes(_ name: String) -> [UInt8]? {
        let file = name + Self.fileSuffix
        known.insert(name)
        known.insert(file)
        // An empty value is how compose files spell "not set".
        let value = environment[name].flatMap { $0.isEmpty ? nil : Array($0.utf8) }
        guard let path = environment[file], !path.isEmpty else {
            if value != nil { set.insert(name) }
            return value
        }
        set.insert(name)
        guard value == nil else {
            note(name, "is set together with \(file); keep one of the two")
            return nil
        }
        guard var content = readFile(path) else {
            note(file, "the file cannot be read; check its path and permissions")
            return nil
        }
        while content.last == 0x0A || content.last == 0x0D { content.removeLast() }
        guard !content.isEmpty else {
            note(file, "the file is empty")
            return nil
        }
        return content
    }

    mutating func text(_ name: String) -> String? {
        guard let bytes = bytes(name) else { return nil }
        guard let text = String(validating: bytes, as: UTF8.self),
            bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else {
            note(name, "must be one line of UTF-8 text")
            return nil
        }
        return text
    }

    mutating func secret(_ name: String, atLeast count: Int = 1, prefix: String = "") -> Secret? {
        guard let bytes = bytes(name) else { return nil }
        if bytes.count < count { note(name, "must have at least \(count) bytes") }
        if !bytes.starts(with: prefix.utf8) { note(name, "must start with \(prefix)") }
        return Secret(bytes)
    }

    mutating func checked<T>(_ name: String, _ mend: String, _ parse: (String) -> T?) -> T? {
        guard let text = text(name) else { return nil }
        let value = parse(text)
        if value == nil { note(name, mend) }
        return value
    }

    /// Setting only one of a pair is a mistake.
    mutating func requireBoth(_ one: String, _ other: String) {
        if set.contains(one) != set.contains(other) {
            note(
                set.contains(one) ? other : one,
                "is needed because \(set.contains(one) ? one : other) is set")
        }
    }

    /// Throws all faults, with unknown names among them.
    mutating func finish() throws(SettingsFault) {
        for name in environment.keys.sorted()
        where name.utf8.starts(with: Self.prefix.utf8) && !known.contains(name) {
            let near = known.filter { EditDistance.between(name, $0) <= 3 }.min {
                (EditDistance.between(name, $0), $0) < (EditDistance.between(name, $1), $1)
            }
            note(name, "is not a setting; " + (near.map { "was \($0) meant?" } ?? "remove it"))
        }
        guard faults.isEmpty else { throw SettingsFault(faults: faults) }
    }

    mutating func note(_ name: String, _ mend: String) {
        faults.append(SettingFault(name: name, mend: mend))
    }
}

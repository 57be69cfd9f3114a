/// Lines of bytes, ended by CRLF or LF, which are not theirs.
struct MessageLines: Sequence, IteratorProtocol {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func next() -> ArraySlice<UInt8>? {
        guard !rest.isEmpty else { return nil }
        let end = rest.firstIndex(of: 0x0A) ?? rest.endIndex
        var line = rest[rest.startIndex..<end]
        rest = rest[(end == rest.endIndex ? end : end + 1)...]
        if line.last == 0x0D { line = line.dropLast() }
        return line
    }
}

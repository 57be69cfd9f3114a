import HTTP
import Text

/// The field lines of a response head, as libcurl passes them.
enum AnswerHead {
    static func fields(of head: [UInt8]) -> [Field] {
        head.split(separator: UInt8(ascii: "\n")).dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
                return nil
            }
            return Field(
                String(decoding: ASCII.lower(line[..<colon]), as: UTF8.self),
                String(decoding: trimmed(line[(colon + 1)...]), as: UTF8.self))
        }
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        var rest = bytes.drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return rest
    }
}

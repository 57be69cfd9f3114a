/// Leaves comments and indentation out of what a browser is sent: they are an eighth of it. Only lines
/// that are nothing but comment go, and each leaves an empty line, so that an error's line is that of
/// the source.
///
/// The lines of a text in backquotes would be changed too; a test refuses texts of several lines.
enum CommentLines {
    static func removed(from text: [UInt8]) -> [UInt8] {
        var isInside = false
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        AssetBytes.forEachLine(of: text[...]) { line, isLast in
            result += code(of: line, &isInside)
            if !isLast { result.append(UInt8(ascii: "\n")) }
        }
        return result
    }

    private static func code(
        of line: ArraySlice<UInt8>, _ isInside: inout Bool
    ) -> ArraySlice<UInt8> {
        let code = line.drop(while: AssetBytes.isBlank)
        if isInside {
            guard let end = AssetBytes.range(of: "*/", in: code) else { return [] }
            isInside = false
            return code[end.upperBound...]
        }
        if code.starts(with: "//".utf8) { return [] }
        guard code.starts(with: "/*".utf8) else { return code }
        guard let end = AssetBytes.range(of: "*/", in: code.dropFirst(2)) else {
            isInside = true
            return []
        }
        return end.upperBound == code.endIndex ? [] : code
    }
}

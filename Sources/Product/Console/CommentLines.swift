/// Leaves comments and indentation out of what a browser is sent: they are an eighth of it. Only lines
/// that are nothing but comment go, and each leaves an empty line, so that an error's line is that of
/// the source.
///
/// The lines of a text in backquotes would be changed too; a test refuses texts of several lines.
enum CommentLines {
    static func removed(from text: String) -> String {
        var isInside = false
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let code = line.drop { $0 == "\t" || $0 == " " }
            if isInside {
                guard let end = code.firstEnd else { return "" as Substring }
                isInside = false
                return code[end...]
            }
            if code.hasPrefix("//") { return "" }
            guard code.hasPrefix("/*") else { return code }
            guard let end = code.dropFirst(2).firstEnd else {
                isInside = true
                return ""
            }
            return end == code.endIndex ? "" : code
        }
        return lines.joined(separator: "\n")
    }
}

extension Substring {
    /// Behind the first end of a comment.
    fileprivate var firstEnd: Index? {
        var at = startIndex
        while at < endIndex {
            if self[at...].hasPrefix("*/") { return index(at, offsetBy: 2) }
            formIndex(after: &at)
        }
        return nil
    }
}

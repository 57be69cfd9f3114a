/// `Accept-Encoding` (RFC 9110 §12.5.3), as far as gzip is concerned.
enum AcceptEncoding {
    /// True if gzip, or else `*`, is named with a weight above zero.
    static func acceptsGzip(_ values: [String]) -> Bool {
        var star = false
        for value in values {
            for item in value.utf8.split(separator: UInt8(ascii: ",")) {
                let parts = item.split(
                    separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
                let name = Bytes.lowercased(Bytes.trim(Array(parts[0])))
                let wanted = !parts.dropFirst().contains { isZeroWeight(Array($0)) }
                if name.elementsEqual("gzip".utf8) { return wanted }
                if name.elementsEqual("*".utf8) { star = wanted }
            }
        }
        return star
    }

    private static func isZeroWeight(_ parameter: [UInt8]) -> Bool {
        let text = Bytes.lowercased(Bytes.trim(parameter))
        guard text.starts(with: "q=0".utf8) else { return false }
        return text.dropFirst(3).allSatisfy { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "0") }
    }
}

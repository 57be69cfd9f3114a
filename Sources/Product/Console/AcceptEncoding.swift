import HTTP

/// A coding of content (RFC 9110 §8.4.1), as far as this server has it; the smaller first.
enum ContentCoding: String, Sendable, CaseIterable {
    /// RFC 7932.
    case brotli = "br"
    case gzip

    /// As small as it gets; nil if the library fails. For files that are compressed once.
    func compress(_ bytes: [UInt8]) -> [UInt8]? {
        switch self {
        case .brotli: Brotli.compress(bytes)
        case .gzip: Gzip.compress(bytes)
        }
    }
}

/// `Accept-Encoding` (RFC 9110 §12.5.3), as far as our codings are concerned.
enum AcceptEncoding {
    /// In thousandths: of the coding, or else of `*`; 0 if it is not accepted.
    static func weight(of coding: ContentCoding, _ values: [String]) -> Int {
        let items = WeightedItem.all(in: values)
        let item =
            items.first { $0.name.utf8.elementsEqual(coding.rawValue.utf8) }
            ?? items.last { $0.name.utf8.elementsEqual("*".utf8) }
        return item?.weight ?? 0
    }

    /// The one of them that is accepted with the highest weight, else the first; nil: none is.
    static func best(of codings: [ContentCoding], _ values: [String]) -> ContentCoding? {
        var best: (coding: ContentCoding, weight: Int)?
        for coding in codings {
            let weight = weight(of: coding, values)
            if weight > best?.weight ?? 0 { best = (coding, weight) }
        }
        return best?.coding
    }
}

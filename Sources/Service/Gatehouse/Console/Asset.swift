import CBrotli
import CZlib
import HTTP
import Synchronization

/// A file in memory, with a compressed copy for each content coding that makes it smaller.
struct Asset: Sendable {
    let type: String
    let bytes: [UInt8]
    private let compressed: CompressedBytes
    private let digest: String

    init(_ bytes: [UInt8], type: String) {
        self.type = type
        self.bytes = bytes
        compressed = CompressedBytes(of: bytes)
        var hash = ContentHash()
        hash.add(bytes)
        digest = hash.hexadecimal
    }

    /// Returns the ETag of the file in this coding. A strong ETag identifies one sequence of bytes
    /// (RFC 9110 §8.8.3), so each coding has its own.
    private func etag(_ coding: ContentCoding?) -> String {
        "\"" + digest + (coding.map { "-" + $0.rawValue } ?? "") + "\""
    }

    func response(
        for request: Request, cacheControl: String, status: Int = 200
    ) -> Response {
        let accepted = request.all("accept-encoding")
        var codings = ContentCoding.allCases
        var (coding, short): (ContentCoding?, [UInt8]?) = (nil, nil)
        while let best = AcceptEncoding.best(of: codings, accepted) {
            short = compressed.bytes(by: best)
            if short != nil {
                coding = best
                break
            }
            codings.removeAll { $0 == best }
        }
        let tag = etag(coding)
        var response = Response(status)
        response.fields = [
            Field("etag", tag),
            Field("cache-control", cacheControl),
            Field("vary", "Accept-Encoding"),
        ]
        let wanted = status == 200 ? request.all("if-match") : []
        if !wanted.isEmpty, !wanted.contains(where: { Self.names($0, tag) }) {
            response.status = 412
            return SecurityHeaders.added(to: response)
        }
        if status == 200, isKnown(tag, request.all("if-none-match")) {
            response.status = 304
            return SecurityHeaders.added(to: response)
        }
        response.set("content-type", type)
        if let coding { response.set("content-encoding", coding.rawValue) }
        response.body = .bytes(short ?? bytes)
        return SecurityHeaders.added(to: response)
    }

    /// Compresses the file with every coding in advance, so that no request has to wait for it.
    func compress() {
        for coding in ContentCoding.allCases { _ = compressed.bytes(by: coding) }
    }

    /// Whether the value of an `If-Match` field includes the ETag, by strong comparison (RFC 9110
    /// §13.1.1).
    private static func names(_ value: String, _ tag: String) -> Bool {
        value.utf8.split(separator: UInt8(ascii: ",")).contains { item in
            let item = AssetBytes.trim(Array(item))
            return item == [UInt8(ascii: "*")] || item.elementsEqual(tag.utf8)
        }
    }

    /// Whether one of the values of `If-None-Match` includes the ETag, by weak comparison (RFC 9110
    /// §13.1.2).
    private func isKnown(_ tag: String, _ values: [String]) -> Bool {
        for value in values {
            for item in value.utf8.split(separator: UInt8(ascii: ",")) {
                var item = AssetBytes.trim(Array(item))
                if item == [UInt8(ascii: "*")] { return true }
                if item.starts(with: "W/".utf8) { item.removeFirst(2) }
                if item.elementsEqual(tag.utf8) { return true }
            }
        }
        return false
    }
}

/// The compressed bytes of a file. The bytes for each coding are computed when they are first
/// needed, since compressing all files would take longer than the rest of the server's start.
private final class CompressedBytes: Sendable {
    private let plain: [UInt8]
    /// The compressed bytes by coding; `nil` if a coding does not make the file smaller.
    private let known = Mutex<[ContentCoding: [UInt8]?]>([:])

    init(of plain: [UInt8]) { self.plain = plain }

    func bytes(by coding: ContentCoding) -> [UInt8]? {
        known.withLock { known in
            if let found = known[coding] { return found }
            let short = coding.compress(plain).flatMap { $0.count < plain.count ? $0 : nil }
            known.updateValue(short, forKey: coding)
            return short
        }
    }
}

/// Operations on bytes instead of strings. Strings would be compared by canonical equivalence,
/// which is wrong here, and dividing the files into characters would take longer than the rest of
/// the server's start.
enum AssetBytes {
    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Calls `body` for each line without its line break; the last line may be empty.
    static func forEachLine(
        of text: ArraySlice<UInt8>, _ body: (_ line: ArraySlice<UInt8>, _ isLast: Bool) -> Void
    ) {
        var rest = text
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            body(rest[..<end], false)
            rest = rest[(end + 1)...]
        }
        body(rest, true)
    }

    /// Returns the range of the first occurrence of `wanted`; `nil` if there is none.
    static func range(of wanted: String, in bytes: ArraySlice<UInt8>) -> Range<Int>? {
        var rest = bytes
        while let first = wanted.utf8.first, let at = rest.firstIndex(of: first) {
            if rest[at...].starts(with: wanted.utf8) { return at..<(at + wanted.utf8.count) }
            rest = rest[(at + 1)...]
        }
        return nil
    }

    static func trim(_ bytes: [UInt8]) -> [UInt8] {
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return [] }
        return Array(bytes[first...last])
    }

    static func lowercased(_ bytes: [UInt8]) -> [UInt8] {
        bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    /// Returns `bytes` with every `old` replaced by `new`.
    static func replace(_ old: String, by new: String, in bytes: [UInt8]) -> [UInt8] {
        let old = Array(old.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var at = 0
        while at < bytes.count {
            if bytes[at] == old[0], bytes[at...].starts(with: old) {
                result += new.utf8
                at += old.count
            } else {
                result.append(bytes[at])
                at += 1
            }
        }
        return result
    }
}

/// A 64-bit FNV-1a hash that identifies a version of our own files. No one gains from a collision,
/// so it need not be cryptographic.
struct ContentHash {
    private var state: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func add(_ bytes: [UInt8]) {
        // The length comes first, so that moving bytes from one part to the next changes the hash.
        withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { for byte in $0 { mix(byte) } }
        for byte in bytes { mix(byte) }
    }

    private mutating func mix(_ byte: UInt8) { state = (state ^ UInt64(byte)) &* 0x100_0000_01b3 }

    var hexadecimal: String {
        let digits = String(state, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

/// Content types by file extension.
enum ContentType {
    static let html = "text/html; charset=utf-8"

    static func of(path: String) -> String? {
        guard let dot = path.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        switch String(path[dot...]) {
        case ".html": return html
        case ".js": return "text/javascript; charset=utf-8"
        case ".css": return "text/css; charset=utf-8"
        case ".svg": return "image/svg+xml"
        case ".png": return "image/png"
        case ".json": return "application/json"
        case ".webmanifest": return "application/manifest+json"
        case ".txt": return "text/plain; charset=utf-8"
        default: return nil
        }
    }
}

/// The content codings (RFC 9110 §8.4.1) that this server supports, the one that compresses best
/// first.
enum ContentCoding: String, Sendable, CaseIterable {
    /// Brotli, as in RFC 7932.
    case brotli = "br"
    case gzip

    /// Compresses the bytes as far as possible; `nil` if the library fails. This is slow, so it is
    /// only for files that are compressed once.
    func compress(_ bytes: [UInt8]) -> [UInt8]? {
        switch self {
        case .brotli: Brotli.compress(bytes)
        case .gzip: Gzip.compress(bytes)
        }
    }
}

/// Reads `Accept-Encoding` (RFC 9110 §12.5.3) for the codings that this server supports.
enum AcceptEncoding {
    /// Returns the weight of the coding, or else that of `*`, in thousandths; 0 if the coding is
    /// not accepted.
    static func weight(of coding: ContentCoding, _ values: [String]) -> Int {
        let items = WeightedItem.all(in: values)
        let item =
            items.first { $0.name.utf8.elementsEqual(coding.rawValue.utf8) }
            ?? items.last { $0.name.utf8.elementsEqual("*".utf8) }
        return item?.weight ?? 0
    }

    /// Returns the accepted coding with the highest weight; `nil` if none is accepted. If several
    /// codings have that weight, the first of them in `codings` is returned.
    static func best(of codings: [ContentCoding], _ values: [String]) -> ContentCoding? {
        var best: (coding: ContentCoding, weight: Int)?
        for coding in codings {
            let weight = weight(of: coding, values)
            if weight > best?.weight ?? 0 { best = (coding, weight) }
        }
        return best?.coding
    }
}

/// The brotli coding (RFC 7932), which makes our files a sixth smaller than gzip does.
enum Brotli {
    /// Compresses the bytes as far as possible with the library's default window; `nil` if the
    /// library fails.
    static func compress(_ bytes: [UInt8]) -> [UInt8]? {
        var size = BrotliEncoderMaxCompressedSize(bytes.count)
        guard size > 0 else { return nil }
        var output = [UInt8](repeating: 0, count: size)
        let isDone = BrotliEncoderCompress(
            BROTLI_MAX_QUALITY, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_TEXT, bytes.count, bytes, &size,
            &output)
        return isDone == BROTLI_TRUE ? Array(output[..<size]) : nil
    }
}

/// The gzip coding (RFC 1952).
enum Gzip {
    enum Level: Int32 {
        case quick = 3
        /// The slowest level, with the smallest result. It is for files that are compressed only
        /// once.
        case best = 9
    }

    /// Compresses the bytes; `nil` if zlib fails, and the file is then served uncompressed.
    static func compress(_ bytes: [UInt8], level: Level = .best) -> [UInt8]? {
        var stream = z_stream()
        // 15 window bits plus 16 select the gzip format instead of zlib's.
        let begun = deflateInit2_(
            &stream, level.rawValue, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY,
            ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard begun == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
        let written: Int? = input.withUnsafeMutableBufferPointer { source in
            output.withUnsafeMutableBufferPointer { target in
                stream.next_in = source.baseAddress
                stream.avail_in = UInt32(source.count)
                stream.next_out = target.baseAddress
                stream.avail_out = UInt32(target.count)
                return deflate(&stream, Z_FINISH) == Z_STREAM_END ? Int(stream.total_out) : nil
            }
        }
        return written.map { Array(output[..<$0]) }
    }
}

/// Removes comments and indentation from scripts and styles before they are served, which saves an
/// eighth of their size. Only a comment on lines of its own is removed. An empty line remains for
/// each of its lines, so that line numbers in errors are those of the source.
///
/// This removal would also change a template literal (a text in backquotes) of several lines, so a
/// test refuses such literals.
enum CommentLines {
    /// Returns a script or a style without comments and indentation, and any other file unchanged.
    static func removed(from file: FileTree.File) -> FileTree.File {
        guard file.path.hasSuffix(".js") || file.path.hasSuffix(".css") else { return file }
        return FileTree.File(path: file.path, bytes: removed(from: file.bytes))
    }

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

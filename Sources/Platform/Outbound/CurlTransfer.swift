import CCurl
import Glibc
import HTTP
import Text

/// One request and its response. `run` blocks the thread that calls it. libcurl calls back into
/// this object only during `run`.
final class CurlTransfer {
    private let request: OutboundRequest
    private let policy: OutboundPolicy
    private var isPlain = false
    private var head: [UInt8] = []
    private var body: [UInt8] = []
    private var isTooLarge = false
    private var wasRefused = false

    init(_ request: OutboundRequest, policy: OutboundPolicy) {
        self.request = request
        self.policy = policy
    }

    func run(until deadline: ContinuousClock.Instant) throws(OutboundFailure) -> OutboundResponse {
        isPlain = try Target(request.url, policy).isPlain
        guard let handle = CurlHandle() else { throw .busy }
        guard handle.setTimeouts(until: deadline, connecting: policy.connecting) else {
            throw .timedOut
        }
        try configure(handle)
        listen(to: handle)
        let code = curl_easy_perform(handle.raw)
        guard code == CURLE_OK else { throw failure(code) }
        var status = 0
        _ = gh_curl_status(handle.raw, &status)
        guard (200...599).contains(status) else { throw .malformed }
        return OutboundResponse(status: status, fields: AnswerHead.fields(of: head), body: body)
    }

    /// The server that a URL names. libcurl parses the URL both here and for the request, so the
    /// host that is checked here is the host to which libcurl connects.
    struct Target {
        var isPlain: Bool
        /// The address in the URL; `nil` if the URL has a host name.
        var address: IPAddress?
        var port: UInt16

        /// Parses a URL. Throws `invalidRequest` if it is malformed, contains a user, or uses plain
        /// http where the policy forbids it.
        init(_ text: String, _ policy: OutboundPolicy) throws(OutboundFailure) {
            guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let url = curl_url() else {
                throw .invalidRequest
            }
            defer { curl_url_cleanup(url) }
            let flags = UInt32(CURLU_DISALLOW_USER)
            guard curl_url_set(url, CURLUPART_URL, text, flags) == CURLUE_OK else {
                throw .invalidRequest
            }
            func part(_ which: CURLUPart) throws(OutboundFailure) -> String {
                var text: UnsafeMutablePointer<CChar>?
                let flags = UInt32(CURLU_DEFAULT_PORT)
                guard curl_url_get(url, which, &text, flags) == CURLUE_OK, let text else {
                    throw .invalidRequest
                }
                defer { curl_free(text) }
                return String(cString: text)
            }
            switch try part(CURLUPART_SCHEME) {
            case "https": isPlain = false
            case "http" where policy.allowsLoopback || policy.allowsAnyAddress: isPlain = true
            default: throw .invalidRequest
            }
            let host = try part(CURLUPART_HOST)
            address = IPAddress(host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host)
            guard let port = UInt16(try part(CURLUPART_PORT)) else { throw .invalidRequest }
            self.port = port
        }
    }

    private func configure(_ handle: CurlHandle) throws(OutboundFailure) {
        handle.set(CURLOPT_URL, request.url)
        handle.set(CURLOPT_PROTOCOLS_STR, isPlain ? "http" : "https")
        handle.set(CURLOPT_FOLLOWLOCATION, 0)
        handle.set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        handle.set(CURLOPT_HTTP_VERSION, 2)
        handle.set(CURLOPT_USERAGENT, "Gatehouse")
        if let authorities = policy.authorities { handle.set(CURLOPT_CAINFO, authorities) }
        switch request.method {
        case .get: handle.set(CURLOPT_HTTPGET, 1)
        case .head: handle.set(CURLOPT_NOBODY, 1)
        case .post, .put, .patch, .delete, .options:
            handle.set(body: request.body)
            handle.set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
        }
        handle.set(CURLOPT_HTTPHEADER, try lines())
    }

    private func lines() throws(OutboundFailure) -> [String] {
        var lines = ["Expect:"]
        for field in request.fields {
            let isToken = field.name.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) || $0 == 0x2D
            }
            let isLine = field.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
            guard isToken, isLine, !field.name.isEmpty else { throw .invalidRequest }
            // To send an empty value, libcurl needs a semicolon after the field's name.
            lines.append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
        }
        return lines
    }

    private func listen(to handle: CurlHandle) {
        handle.set(CURLOPT_WRITEDATA, to: self)
        handle.set(CURLOPT_WRITEFUNCTION) { bytes, _, count, object in
            CurlTransfer.at(object)?.take(UnsafeRawBufferPointer(start: bytes, count: count)) ?? 0
        }
        handle.set(CURLOPT_HEADERDATA, to: self)
        handle.set(CURLOPT_HEADERFUNCTION) { bytes, _, count, object in
            CurlTransfer.at(object)?
                .takeHead(UnsafeRawBufferPointer(start: bytes, count: count)) ?? 0
        }
        handle.set(CURLOPT_OPENSOCKETDATA, to: self)
        _ = gh_curl_socket_opener(handle.raw) { object, _, address in
            CurlTransfer.at(object)?.open(address) ?? -1
        }
    }

    private static func at(_ object: UnsafeMutableRawPointer?) -> CurlTransfer? {
        object.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Adds bytes to the body and returns their number. Returns 0 if the body becomes too large,
    /// which makes libcurl abort.
    private func take(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard body.count + bytes.count <= policy.bodyLimit else {
            isTooLarge = true
            return 0
        }
        body.append(contentsOf: bytes)
        return bytes.count
    }

    private func takeHead(_ bytes: UnsafeRawBufferPointer) -> Int {
        // A second status line means that the bytes so far are an interim response (1xx), so
        // discard them.
        if bytes.starts(with: "HTTP/".utf8) { head = [] }
        guard head.count + bytes.count <= OutboundPolicy.headLimit else {
            isTooLarge = true
            return 0
        }
        head.append(contentsOf: bytes)
        return bytes.count
    }

    private func open(_ address: UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t {
        guard let address else { return -1 }
        var bytes = [UInt8](repeating: 0, count: 16)
        var port: UInt16 = 0
        let count = Int(gh_curl_address(address, &bytes, &port))
        guard let found = IPAddress(bytes: Array(bytes.prefix(count))),
            policy.permits(found, port: port, isPlain: isPlain)
        else {
            wasRefused = true
            return -1
        }
        let kind = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
        return socket(address.pointee.family, kind, address.pointee.protocol)
    }

    private func failure(_ code: CURLcode) -> OutboundFailure {
        if isTooLarge { return .tooLarge }
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: return .unresolved
        case CURLE_COULDNT_CONNECT: return wasRefused ? .refusedAddress : .unreachable
        case CURLE_OPERATION_TIMEDOUT: return .timedOut
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE:
            return .untrusted
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE:
            return .unreachable
        case CURLE_URL_MALFORMAT: return .invalidRequest
        default: return .malformed
        }
    }
}

/// One libcurl easy handle and the lists that it refers to. Only one thread uses it at a time.
final class CurlHandle {
    let raw: UnsafeMutableRawPointer
    private var lists: [UnsafeMutablePointer<curl_slist>] = []

    /// Whether libcurl's global initialisation succeeded. The initialisation must run once before
    /// any handle is made.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Makes a handle; `nil` if libcurl is out of memory.
    init?() {
        guard Self.isReady, let made = curl_easy_init() else { return nil }
        raw = made
        setDefaults()
    }

    /// Resets all options but keeps open connections.
    func reset() {
        curl_easy_reset(raw)
        for list in lists { curl_slist_free_all(list) }
        lists = []
        setDefaults()
    }

    private func setDefaults() {
        // A signal for a timeout could reach any thread, so let libcurl use no signals. Do not wait
        // beyond the deadline for a name resolution that hangs.
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_PROXY, "")
        set(CURLOPT_NETRC, 0)
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    }

    deinit {
        curl_easy_cleanup(raw)
        for list in lists { curl_slist_free_all(list) }
    }

    func set(_ option: CURLoption, _ value: Int) { _ = gh_curl_long(raw, option, value) }

    /// Sets an option; libcurl copies the text.
    func set(_ option: CURLoption, _ value: String) { _ = gh_curl_string(raw, option, value) }

    func set(_ option: CURLoption, _ lines: [String]) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines { list = curl_slist_append(list, line) ?? list }
        guard let list else { return }
        lists.append(list)
        _ = gh_curl_list(raw, option, list)
    }

    /// Sets the body of the request; libcurl copies it.
    func set(body: [UInt8]) {
        set(CURLOPT_POSTFIELDSIZE, body.count)
        if body.isEmpty {
            set(CURLOPT_COPYPOSTFIELDS, "")
        } else {
            _ = gh_curl_pointer(raw, CURLOPT_COPYPOSTFIELDS, body)
        }
    }

    func set(_ option: CURLoption, to object: AnyObject) {
        _ = gh_curl_pointer(raw, option, Unmanaged.passUnretained(object).toOpaque())
    }

    func set(_ option: CURLoption, call function: @escaping gh_curl_callback) {
        _ = gh_curl_function(raw, option, function)
    }

    /// Sets libcurl's timeouts. Returns false if no time is left until `deadline`.
    func setTimeouts(until deadline: ContinuousClock.Instant, connecting: Duration) -> Bool {
        let left = Self.milliseconds(deadline - .now)
        guard left > 0 else { return false }
        set(CURLOPT_TIMEOUT_MS, left)
        set(CURLOPT_CONNECTTIMEOUT_MS, min(left, Self.milliseconds(connecting)))
        return true
    }

    private static func milliseconds(_ duration: Duration) -> Int {
        let (seconds, attoseconds) = duration.components
        return Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}

/// Parses the field lines of a response head that libcurl has passed on.
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

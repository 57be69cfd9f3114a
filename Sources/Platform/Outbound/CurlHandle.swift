import CCurl

/// One easy handle and the lists that it borrows; used by one thread and freed with it.
final class CurlHandle {
    let raw: UnsafeMutableRawPointer
    private var lists: [UnsafeMutablePointer<curl_slist>] = []

    /// libcurl requires this once, before any handle.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// nil if libcurl has no memory.
    init?() {
        guard Self.isReady, let made = curl_easy_init() else { return nil }
        raw = made
        setDefaults()
    }

    /// Resets all options and keeps open connections.
    func reset() {
        curl_easy_reset(raw)
        for list in lists { curl_slist_free_all(list) }
        lists = []
        setDefaults()
    }

    private func setDefaults() {
        // Timeouts by signals would hit any thread, and a resolver that hangs must not block the
        // worker beyond the deadline.
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

    /// libcurl copies the text.
    func set(_ option: CURLoption, _ value: String) { _ = gh_curl_string(raw, option, value) }

    func set(_ option: CURLoption, _ lines: [String]) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines { list = curl_slist_append(list, line) ?? list }
        guard let list else { return }
        lists.append(list)
        _ = gh_curl_list(raw, option, list)
    }

    /// The body of a request; libcurl copies it.
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

    /// False if no time is left until `deadline`.
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

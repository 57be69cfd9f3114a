// swift-tools-version: 6.2
import PackageDescription

// The layering as code. Each target lists the modules that it may import. `ArchitectureTests`
// checks the imports of every file against these lists, because SwiftPM alone lets a file import an
// undeclared module of the same package.

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

func system(_ name: String, pkgConfig: String?, apt: String) -> Target {
    .systemLibrary(
        name: name, path: "Sources/System/\(name)", pkgConfig: pkgConfig, providers: [.apt([apt])])
}

func room(_ folder: String, _ name: String, _ imports: [String] = []) -> Target {
    .target(
        name: name, dependencies: imports.map { .byName(name: $0) },
        path: "Sources/\(folder)/\(name)", swiftSettings: settings)
}

func tests(_ name: String, _ imports: [String]) -> Target {
    .testTarget(
        name: name, dependencies: imports.map { .byName(name: $0) },
        path: "Tests/\(name)", swiftSettings: settings)
}

let rooms = [
    "Text", "JSON", "Runtime", "HTTP", "Outbound", "Cryptography", "Postgres", "Domain", "Storage",
    "API",
]

// The commit that the packager names in the environment. If the build asked git itself, the program
// would be linked again after every commit.
let commit = Context.environment["GATEHOUSE_BUILD_COMMIT"] ?? ""

let package = Package(
    name: "gatehouse",
    products: [.executable(name: "gatehouse", targets: ["gatehouse"])],
    targets: [
        .target(name: "CLinux", path: "Sources/System/CLinux"),
        .target(name: "CCommonPasswords", path: "Sources/System/CCommonPasswords"),
        .target(
            name: "CBuild", path: "Sources/System/CBuild",
            cSettings: [.define("BUILD_COMMIT", to: "\"\(commit)\"")]),
        system("CPostgres", pkgConfig: "libpq", apt: "libpq-dev"),
        system("COpenSSL", pkgConfig: "openssl", apt: "libssl-dev"),
        system("CArgon2", pkgConfig: "libargon2", apt: "libargon2-dev"),
        system("CCrypt", pkgConfig: "libcrypt", apt: "libcrypt-dev"),
        system("CIdn2", pkgConfig: "libidn2", apt: "libidn2-dev"),
        system("CPsl", pkgConfig: "libpsl", apt: "libpsl-dev"),
        system("CCurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
        system("CResolv", pkgConfig: nil, apt: "libc6-dev"),
        system("CBrotli", pkgConfig: "libbrotlienc", apt: "libbrotli-dev"),
        system("CZlib", pkgConfig: "zlib", apt: "zlib1g-dev"),

        room("Platform", "Text", ["CIdn2", "CPsl"]),
        room("Platform", "JSON"),
        room("Platform", "Runtime", ["CLinux", "COpenSSL", "Text"]),
        room("Platform", "HTTP", ["CZlib", "Runtime", "Text"]),
        room("Platform", "Outbound", ["CCurl", "CResolv", "HTTP", "Runtime", "Text"]),
        room(
            "Platform", "Cryptography",
            ["COpenSSL", "CArgon2", "CCrypt", "CCommonPasswords", "JSON", "Runtime", "Text"]),
        room("Platform", "Postgres", ["CPostgres", "Runtime", "Text"]),

        room("Product", "Domain", ["Text"]),
        room(
            "Product", "Storage",
            ["Cryptography", "Domain", "JSON", "Postgres", "Runtime", "Text"]),
        room(
            "Product", "API",
            [
                "Cryptography", "Domain", "HTTP", "JSON", "Outbound", "Runtime", "Storage", "Text",
            ]),

        room("Service", "Gatehouse", ["CBuild", "CBrotli", "CZlib"] + rooms),
        .executableTarget(
            name: "gatehouse", dependencies: ["Gatehouse"], path: "Sources/Service/Main",
            swiftSettings: settings),

        .target(
            name: "TestSupport",
            dependencies: (rooms + ["Gatehouse"]).map { .byName(name: $0) },
            path: "Tests/TestSupport", swiftSettings: settings),
        tests("TextTests", ["Text"]),
        tests("JSONTests", ["JSON"]),
        tests("HTTPTests", ["CZlib", "HTTP", "TestSupport"]),
        tests("RoutingTests", ["HTTP"]),
        tests("CryptographyTests", ["Cryptography", "Text"]),
        tests("WebAuthnTests", ["Cryptography", "JSON", "Text", "TestSupport"]),
        tests("OutboundTests", ["Outbound", "HTTP", "Runtime", "Text", "TestSupport"]),
        tests("ServingTests", ["COpenSSL", "HTTP", "Runtime", "TestSupport"]),
        tests("PostgresTests", ["Postgres", "Runtime", "Text", "TestSupport"]),
        tests("ReplicationTests", ["Postgres", "Text", "TestSupport"]),
        tests("DomainTests", ["Domain", "Text", "TestSupport"]),
        tests(
            "FederationTests",
            ["API", "Cryptography", "Domain", "JSON", "Outbound", "Text", "TestSupport"]),
        tests("StorageTests", rooms + ["Gatehouse", "TestSupport"]),
        tests("APITests", rooms + ["Gatehouse", "TestSupport"]),
        tests("SignInTests", rooms + ["Gatehouse", "TestSupport"]),
        tests("EndToEndTests", rooms + ["Gatehouse", "TestSupport"]),
        tests("ConsoleTests", ["Gatehouse", "HTTP"]),
        tests("ArchitectureTests", []),
    ],
    swiftLanguageModes: [.v6]
)

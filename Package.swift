// swift-tools-version: 6.2
import PackageDescription

// The layering as code: a target names what it may import, and `ArchitectureTests` holds every
// file's imports to it, because SwiftPM alone lets an undeclared sibling through.

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

let platform = [
    "Observability", "Configuration", "Text", "JSON", "Workers", "Outbound", "Cryptography",
    "Deadlines", "Networking", "HTTP", "Routing", "Serving", "Postgres", "Replication", "WebAuthn",
]
let product = ["Domain", "Federation", "Storage", "Mail", "API", "SignIn", "Console"]

// Set by who packs the program: a build that asked git itself would link anew after every commit.
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

        room("Platform", "Observability", ["Text"]),
        room("Platform", "Configuration"),
        room("Platform", "Text", ["CIdn2", "CPsl"]),
        room("Platform", "JSON"),
        room("Platform", "HTTP", ["CZlib", "Text"]),
        room("Platform", "Deadlines"),
        room("Platform", "Workers"),
        room(
            "Platform", "Cryptography",
            ["COpenSSL", "CArgon2", "CCrypt", "CCommonPasswords", "Text", "Workers"]),
        room("Platform", "WebAuthn", ["Cryptography", "JSON", "Text"]),
        room("Platform", "Networking", ["CLinux", "COpenSSL", "Observability"]),
        room(
            "Platform", "Outbound", ["CCurl", "CResolv", "Deadlines", "HTTP", "Text", "Workers"]),
        room("Platform", "Routing", ["HTTP", "Text"]),
        room(
            "Platform", "Serving", ["Deadlines", "HTTP", "Networking", "Observability", "Text"]),
        room(
            "Platform", "Postgres",
            ["CPostgres", "Deadlines", "Networking", "Observability", "Text"]),

        room("Platform", "Replication", ["Networking", "Observability", "Postgres", "Text"]),

        room("Product", "Domain", ["Text"]),
        room(
            "Product", "Federation", ["Domain", "Outbound", "HTTP", "JSON", "Text", "Cryptography"]),
        room(
            "Product", "Storage",
            [
                "Deadlines", "Domain", "Postgres", "Replication", "JSON", "Text", "Cryptography",
                "WebAuthn",
            ]),
        room("Product", "Mail", ["Storage", "Outbound", "Text"]),
        room(
            "Product", "API",
            [
                "Deadlines", "Domain", "Federation", "Storage", "HTTP", "Routing", "JSON", "Text",
                "Cryptography",
                "Observability", "WebAuthn",
            ]),
        room(
            "Product", "SignIn",
            [
                "API", "Domain", "Federation", "Outbound", "Storage", "HTTP", "Routing", "JSON",
                "Text",
                "Cryptography",
            ]),
        room("Product", "Console", ["HTTP", "Workers", "CBrotli", "CZlib"]),

        room("Service", "Application", ["CBuild"] + platform + product),
        .executableTarget(
            name: "gatehouse", dependencies: ["Application"], path: "Sources/Service/gatehouse",
            swiftSettings: settings),

        .target(
            name: "TestSupport",
            dependencies: (platform + product + ["Application"]).map { .byName(name: $0) },
            path: "Tests/TestSupport", swiftSettings: settings),
        tests("TextTests", ["Text"]),
        tests("JSONTests", ["JSON"]),
        tests("HTTPTests", ["CZlib", "HTTP", "TestSupport"]),
        tests("RoutingTests", ["Routing", "HTTP"]),
        tests("CryptographyTests", ["Cryptography", "Text"]),
        tests("WebAuthnTests", ["WebAuthn", "Cryptography", "JSON", "Text", "TestSupport"]),
        tests(
            "OutboundTests",
            ["Outbound", "Serving", "Networking", "HTTP", "Text", "TestSupport", "Workers"]),
        tests(
            "ServingTests",
            [
                "Serving", "Deadlines", "Networking", "Observability", "HTTP", "COpenSSL",
                "TestSupport",
            ]),
        tests(
            "PostgresTests",
            ["Postgres", "Deadlines", "Networking", "Observability", "Text", "TestSupport"]),
        tests("ReplicationTests", ["Replication", "Postgres", "Text", "TestSupport"]),
        tests("DomainTests", ["Domain", "Text", "TestSupport"]),
        tests(
            "FederationTests",
            ["Federation", "Outbound", "Domain", "Cryptography", "JSON", "Text", "TestSupport"]),
        tests(
            "StorageTests",
            [
                "Storage", "Application", "Cryptography", "Deadlines", "Domain", "HTTP", "JSON",
                "Postgres", "Text",
                "TestSupport",
            ]),
        tests(
            "APITests",
            [
                "API", "Domain", "Mail", "Outbound", "Storage", "Postgres", "Cryptography", "HTTP",
                "Routing", "JSON", "SignIn",
                "Text", "Application", "TestSupport", "WebAuthn",
            ]),
        tests(
            "SignInTests",
            [
                "Application", "SignIn", "API", "Domain", "Storage", "Postgres", "Cryptography",
                "HTTP", "Mail", "Observability", "Outbound",
                "JSON",
                "Text", "TestSupport",
            ]),
        tests(
            "EndToEndTests",
            [
                "Application", "SignIn", "Outbound", "TestSupport", "JSON", "HTTP", "Text",
                "Observability", "Storage", "Cryptography", "Domain", "Replication", "Postgres",
                "Networking",
            ]),
        tests("ConsoleTests", ["Console", "HTTP"]),
        tests("ArchitectureTests", []),
    ],
    swiftLanguageModes: [.v6]
)

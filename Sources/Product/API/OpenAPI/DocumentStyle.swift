import Cryptography
import Text

/// The style of the documentation page; inline, so that the page is one response without a script.
package enum DocumentPage {
    /// SHA-256 of the style in base64, for the Content-Security-Policy.
    package static var styleDigest: String { Base64.encode(SHA256.hash(Array(style.utf8))) }

    static let style = """
        :root{color-scheme:light dark;--bg:light-dark(#fff,#0f1216);--card:light-dark(#f6f7f9,#161a20);
        --text:light-dark(#15181e,#e8ebf0);--dim:light-dark(#5a6371,#98a2b0);
        --line:light-dark(#d5d9e0,#303844);--accent:light-dark(#1d5bc9,#82b1ff);
        --get:light-dark(#13663a,#72d49c);--post:light-dark(#1d5bc9,#82b1ff);
        --put:light-dark(#774a00,#f0c35a);--delete:light-dark(#b3261e,#ff9288)}
        *{box-sizing:border-box}
        body{margin:0;background:var(--bg);color:var(--text);
        font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
        code,pre,.path{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.875em}
        .page{display:grid;grid-template-columns:15rem minmax(0,1fr);max-width:74rem;margin:auto}
        nav{position:sticky;top:0;align-self:start;max-height:100vh;overflow:auto;padding:24px 16px}
        nav a{display:block;padding:6px 8px;border-radius:6px;color:inherit;text-decoration:none}
        nav a:hover{background:var(--card);color:var(--accent)}
        main{padding:24px 16px 64px}h1{font-size:1.75rem;margin:0 0 8px}
        h2{font-size:1.25rem;margin:40px 0 12px;padding-top:8px}h3{font-size:.875rem;margin:20px 0 6px}
        p{margin:6px 0}.dim{color:var(--dim)}a{color:var(--accent)}
        details{border:1px solid var(--line);border-radius:8px;margin:8px 0;background:var(--card)}
        summary{display:flex;flex-wrap:wrap;gap:4px 12px;align-items:baseline;padding:10px 12px;cursor:pointer;
        list-style:none}summary::-webkit-details-marker{display:none}
        summary:focus-visible,a:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
        .verb{min-width:4.2em;font-weight:700;font-size:.8125rem}.path{overflow-wrap:anywhere;font-weight:600}
        .get{color:var(--get)}.post{color:var(--post)}.put,.patch{color:var(--put)}.delete{color:var(--delete)}
        .what{flex:1 1 16rem;color:var(--dim)}.body{padding:0 12px 16px;border-top:1px solid var(--line)}
        table{border-collapse:collapse;width:100%;font-size:.875rem}
        th{text-align:left;font-weight:600;color:var(--dim)}
        td,th{padding:6px 12px 6px 0;border-bottom:1px solid var(--line);vertical-align:top}
        td:first-child{white-space:nowrap}
        pre{margin:0;padding:12px;overflow:auto;background:var(--bg);border:1px solid var(--line);border-radius:6px}
        .scroll{overflow-x:auto}
        @media(max-width:48rem){.page{display:block}nav{position:static;max-height:none;padding-bottom:0;
        display:flex;flex-wrap:wrap}nav b{width:100%}td:first-child{white-space:normal}}
        @media print{nav{display:none}}
        """
}

/// Reports as mail systems write them, shortened.
enum MailSystems {
    static let postfix = """
        Received: by mx.gate.example (Postfix)
        \tid 4D1C2; Wed, 25 Nov 2026 01:00:00 +0000 (UTC)
        Date: Wed, 25 Nov 2026 01:00:00 +0000 (UTC)
        From: MAILER-DAEMON@mx.gate.example (Mail Delivery System)
        Subject: Undelivered Mail Returned to Sender
        Auto-Submitted: auto-replied
        MIME-Version: 1.0
        Content-Type: multipart/report; report-type=delivery-status;
        \tboundary="B-OUND/1"

        This is a MIME-encapsulated message.

        --B-OUND/1
        Content-Description: Notification
        Content-Type: text/plain; charset=us-ascii

        This is the mail system at host mx.gate.example.

        --B-OUND/1
        Content-Description: Delivery report
        Content-Type: message/delivery-status

        Reporting-MTA: dns; mx.gate.example
        X-Postfix-Queue-ID: 4D1C2
        Arrival-Date: Wed, 25 Nov 2026 01:00:00 +0000 (UTC)

        Final-Recipient: rfc822; ann@gone.example
        Original-Recipient: rfc822;ann@gone.example
        Action: failed
        Status: 5.1.1
        Remote-MTA: dns; mx.gone.example
        Diagnostic-Code: smtp; 550 5.1.1 <ann@gone.example>: Recipient address rejected: no such
            user

        --B-OUND/1
        Content-Description: Undelivered Message
        Content-Type: message/rfc822

        From: "Acme via Gatehouse" <gate@gate.example>
        Subject: You are invited to Acme

        --B-OUND/1--

        """

    static let exim = """
        From: Mail Delivery System <Mailer-Daemon@mx.gate.example>
        References: <1@gate.example>
        Content-Type: multipart/report; report-type=delivery-status; boundary=1764032400-eximdsn-1804289383
        MIME-Version: 1.0
        Subject: Mail delivery failed: returning message to sender

        --1764032400-eximdsn-1804289383
        Content-type: text/plain; charset=us-ascii

        This message was created automatically by mail delivery software.

        --1764032400-eximdsn-1804289383
        Content-type: message/delivery-status

        Reporting-MTA: dns; mx.gate.example

        Action: failed
        Final-Recipient: rfc822;ann@gone.example
        Status: 5.0.0
        Remote-MTA: dns; mx.gone.example
        Diagnostic-Code: smtp; 550 5.7.1 Relaying denied

        --1764032400-eximdsn-1804289383
        Content-type: text/rfc822-headers

        Subject: You are invited to Acme
        --1764032400-eximdsn-1804289383--
        """

    static let exchange = """
        From: Microsoft Outlook <MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@corp.example>
        Content-Type: multipart/report; report-type=delivery-status;
        \tboundary="d7b1_6a"
        Content-Language: en-US
        Subject: Undeliverable: You are invited to Acme

        --d7b1_6a
        Content-Type: multipart/alternative; differences=Content-Type;
        \tboundary="d7b1_6a_alt"

        --d7b1_6a_alt
        Content-Type: text/plain; charset="us-ascii"
        Content-Transfer-Encoding: quoted-printable

        Delivery has failed to these recipients or groups:

        --d7b1_6a_alt--

        --d7b1_6a
        Content-Type: message/delivery-status

        Reporting-MTA: dns;AM0PR01.corp.example
        Received-From-MTA: dns;mx.gate.example
        Arrival-Date: Wed, 25 Nov 2026 01:00:00 +0000

        Original-Recipient: rfc822;ann@corp.example
        Final-Recipient: rfc822;ann@corp.example
        Action: failed
        Status: 5.1.10
        Diagnostic-Code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not
         found by SMTP address lookup
        X-Display-Name: Ann

        --d7b1_6a
        Content-Type: message/rfc822

        Subject: You are invited to Acme

        --d7b1_6a--
        """

    static let gmail = """
        Delivered-To: bounce@gate.example
        From: Mail Delivery Subsystem <mailer-daemon@googlemail.com>
        To: bounce@gate.example
        Auto-Submitted: auto-replied
        Subject: Delivery Status Notification (Failure)
        Content-Type: multipart/report; boundary="00000000000076f2a30627b9e1f4"; report-type=delivery-status

        --00000000000076f2a30627b9e1f4
        Content-Type: multipart/related; boundary="00000000000076f8b10627b9e1fb"

        --00000000000076f8b10627b9e1fb
        Content-Type: multipart/alternative; boundary="00000000000076f8ba0627b9e1fc"

        --00000000000076f8ba0627b9e1fc
        Content-Type: text/plain; charset="UTF-8"

        ** Address not found **

        --00000000000076f8ba0627b9e1fc--
        --00000000000076f8b10627b9e1fb--
        --00000000000076f2a30627b9e1f4
        Content-Type: message/delivery-status

        Reporting-MTA: dns; googlemail.com
        Arrival-Date: Tue, 24 Nov 2026 17:00:00 -0800 (PST)
        X-Original-Message-ID: <1@gate.example>

        Final-Recipient: rfc822; ann@gmail.example
        Action: failed
        Status: 5.1.1
        Remote-MTA: dns; gmail-smtp-in.l.google.example. (2a00:1450::1b, the server for the
         domain gmail.example.)
        Diagnostic-Code: smtp; 550-5.1.1 The email account that you tried to reach does not exist.
         550 5.1.1 Please try double-checking the recipient's email address.
        Last-Attempt-Date: Tue, 24 Nov 2026 17:00:01 -0800 (PST)

        --00000000000076f2a30627b9e1f4
        Content-Type: message/rfc822

        Subject: You are invited to Acme

        --00000000000076f2a30627b9e1f4--
        """
}

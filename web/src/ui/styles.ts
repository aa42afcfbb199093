/** Every style sheet, in the order in which later ones win. */
import "./tokens.css";
import "./base.css";
import "./controls.css";
import "./frame.css";
import "../chat/conversation.css";
import "../chat/composer.css";
import "../markdown/markdown.css";
import "../tools/tools.css";
import "../approvals/approvals.css";
import "../files/files.css";
import "../usage/usage.css";
import "../audit/audit.css";
import "./print.css";

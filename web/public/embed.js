// <turnlog-chat server="https://turnlog.example" session="ID"></turnlog-chat>: the chat in a page of
// yours. It is a frame, so that neither page can reach into the other; they speak by messages.
(function () {
  var home = new URL(".", document.currentScript.src).href;
  // Colours that the chat takes from the page around it: --turnlog-accent becomes --accent.
  var COLOURS = ["accent", "on-accent", "accent-soft", "bg", "panel", "raised", "bubble", "sunken", "line", "text", "muted"];

  class TurnlogChat extends HTMLElement {
    static observedAttributes = ["session", "theme"];

    connectedCallback() {
      this.server = new URL(this.getAttribute("server") || home).href.replace(/\/$/, "");
      this.origin = new URL(this.server).origin;
      this.frame = document.createElement("iframe");
      this.frame.title = this.getAttribute("title") || "Chat";
      this.frame.style.cssText = "border:0;width:100%;height:100%;display:block";
      this.frame.allow = "clipboard-write";
      if (!this.style.display) this.style.display = "block";
      this.hear = (event) => this.heard(event);
      window.addEventListener("message", this.hear);
      this.replaceChildren(this.frame);
      this.open();
    }

    disconnectedCallback() {
      window.removeEventListener("message", this.hear);
    }

    attributeChangedCallback() {
      if (this.frame) this.open();
    }

    open() {
      var session = this.getAttribute("session");
      this.frame.src = this.server + "/embed" + (session ? "?session=" + encodeURIComponent(session) : "");
    }

    // A function that gives a token, or a promise of one. Never in an address.
    set token(give) {
      this.give = typeof give === "function" ? give : () => give;
    }

    async heard(event) {
      if (event.origin !== this.origin || event.source !== this.frame.contentWindow) return;
      if (event.data && event.data.turnlog === "ready") this.tell({ theme: this.theme(), colours: this.colours() });
      if (event.data && event.data.turnlog === "token" && this.give) this.tell({ token: await this.give() });
      if (event.data && event.data.turnlog === "session") {
        this.dispatchEvent(new CustomEvent("session", { detail: { id: event.data.id } }));
      }
    }

    tell(message) {
      this.frame.contentWindow.postMessage(Object.assign({ turnlog: "host" }, message), this.origin);
    }

    theme() {
      var dark = matchMedia("(prefers-color-scheme: dark)").matches;
      return this.getAttribute("theme") || (dark ? "dark" : "light");
    }

    colours() {
      var styles = getComputedStyle(this);
      var found = {};
      COLOURS.forEach(function (name) {
        var value = styles.getPropertyValue("--turnlog-" + name).trim();
        if (value) found[name] = value;
      });
      return found;
    }
  }

  customElements.define("turnlog-chat", TurnlogChat);
})();

// Before the first paint: the theme that the user chose, or the system's.
(function () {
  var chosen = null;
  try {
    chosen = localStorage.getItem("turnlog.theme");
  } catch (error) {
    /* no storage: the system decides */
  }
  var dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
